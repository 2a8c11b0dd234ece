CPU := $(M7_SINGLE)
SHARED := ports/sleep ports/dwt
