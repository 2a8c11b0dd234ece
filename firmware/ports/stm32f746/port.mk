CPU := $(M7_SINGLE)
SHARED := ports/stm32 ports/sleep ports/dwt
