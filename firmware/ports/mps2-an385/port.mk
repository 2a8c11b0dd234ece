CPU := $(M0PLUS)
SHARED := ports/ticks ports/mps2
