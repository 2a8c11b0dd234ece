"""Virtual meters: instruments that read the true supply of the virtual board with their own errors."""
