"""trainrig: a hardware-in-the-loop rig for neural-network training on microcontrollers."""

__version__ = "0.1.0"
