CPU := $(M0PLUS)
SHARED := ports/ticks
SEAL := $(PYTHON) ports/rp2040/seal_boot2.py
