CPU := $(M33)
SHARED := ports/ticks ports/mps2
