"""Energy from readings of a meter: windows, phases, uncertainty budget and checks."""
