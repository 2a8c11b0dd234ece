#pragma once

#include <stdint.h>

enum { OSC_HZ = 24000000 };

/* 1.25 V, PLL1 at 1200 MHz and the core at half of it; the UARTs' clock from the 24 MHz crystal. Returns the core's
   frequency in Hz: that of the crystal where the voltage or the PLL does not come up. */
uint32_t clock_start(void);
