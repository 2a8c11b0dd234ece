"""Energy of the user's own firmware between two edges of a pin: windows, figures and their uncertainty."""
