CPU := -mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard
SHARED := ports/ticks ports/mps2
