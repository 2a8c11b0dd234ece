CPU := $(M4)
SHARED := ports/ticks ports/mps2
