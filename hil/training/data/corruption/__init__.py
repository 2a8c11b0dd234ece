"""Image corruptions after Hendrycks and Dietterich (2019), in integers: four families, one file each."""
