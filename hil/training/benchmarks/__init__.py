"""Rates of the reference, the methods and the kernels of the firmware: `hil bench rig|kernels`."""
