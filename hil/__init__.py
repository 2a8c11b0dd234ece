"""trainrig: a hardware-in-the-loop rig for neural-network training on microcontrollers.

PYTEST_DONT_REWRITE: a worker of pytest-xdist has imported this file before pytest starts (child_process.py), and pytest
would warn that it cannot rewrite its asserts. There are none here; those of the other modules are rewritten.
"""

__version__ = "0.1.0"
