CPU := $(M0PLUS)
SHARED := ports/rp2 ports/ticks ports/usb
SEAL := $(PYTHON) ports/rp2040/seal_boot2.py
