CPU := $(M33)
SHARED := ports/rp2 ports/dwt
