#include "board.h"

#include "nrf52840.h"

enum { READY_POLLS = 100000 }; /* tens of milliseconds; the crystal of the DK needs less than one */

/* The core runs at 64 MHz from the RC oscillator out of reset; the crystal takes its place without a gap. The UARTE at
   1 Mbaud and the cycle counter as a clock need it (Product Specification, CLOCK: the RC oscillator is off by
   percents). Where it does not start, all goes on as it was, and the link will tell. */
void clock_start(void) {
    CLOCK_EVENTS_HFCLKSTARTED = 0;
    CLOCK_TASKS_HFCLKSTART = 1;
    (void)wait_until(&CLOCK_EVENTS_HFCLKSTARTED, 1, 1, READY_POLLS);
    NVMC_ICACHECNF = NVMC_ICACHECNF_CACHEEN; /* the flash has wait states at 64 MHz (NVMC: instruction cache) */
}
