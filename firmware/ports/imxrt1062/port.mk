CPU := $(M7)
SHARED := ports/dwt ports/usb
DEFINES := -DPORT_AFTER_FAULT
