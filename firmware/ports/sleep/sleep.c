#include "sleep.h"

#include <stdint.h>

#include "agent/port.h"
#include "cortex_m.h"

/* SysTick is free on this board, whose cycles DWT counts: it ends the sleep, a millisecond at a time. */
static volatile uint32_t left;

void sleep_tick_handler(void) {
    if (left > 0) {
        left--;
    }
}

void port_sleep_ms(uint32_t ms) {
    left = ms;
    SYST_RVR = port_clock_hz() / 1000u - 1u;
    SYST_CVR = 0;
    SYST_CSR = SYST_CSR_CLKSOURCE | SYST_CSR_TICKINT | SYST_CSR_ENABLE;
    while (left > 0) {
        interrupts_mask();
        if (left > 0) {
            wait_for_interrupt();
        }
        interrupts_unmask();
    }
    SYST_CSR = 0;
}
