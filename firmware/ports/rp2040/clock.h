#pragma once

/* Core and peripherals at 125 MHz from the crystal, a tick of 1 MHz for the timer. */
void clock_start(void);

#define CLOCK_HZ 125000000u
