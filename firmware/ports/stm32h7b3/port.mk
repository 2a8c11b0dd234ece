CPU := $(M7)
SHARED := ports/stm32 ports/sleep ports/dwt
