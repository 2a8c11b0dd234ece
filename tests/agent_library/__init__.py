"""Programs that use the agent as a library, for this computer: the device's end of a pseudo-terminal."""
