CPU := $(M7)
SHARED := ports/ticks ports/mps2
