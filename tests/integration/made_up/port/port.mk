CPU := $(M4)
SHARED := ports/dwt
