CPU := $(M7)
SHARED := ports/sleep ports/dwt
