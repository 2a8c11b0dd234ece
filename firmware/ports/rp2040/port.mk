CPU := $(M0PLUS)
SHARED := ports/rp2 ports/ticks ports/usb
DEFINES := -DPORT_AFTER_FAULT
SEAL := $(PYTHON) ports/rp2040/seal_boot2.py
