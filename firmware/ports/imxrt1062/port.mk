CPU := $(M7)
SHARED := ports/dwt
