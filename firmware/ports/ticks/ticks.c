#include "ticks.h"

#include "agent/messages.h"
#include "agent/port.h"
#include "cortex_m.h"
#include "serial.h"

#define TICKS_MASK 0xFFFFFFu

static volatile uint32_t wraps;

void ticks_start(void) {
    SYST_RVR = TICKS_MASK;
    SYST_CVR = 0;
    SYST_CSR = SYST_CSR_CLKSOURCE | SYST_CSR_TICKINT | SYST_CSR_ENABLE;
}

uint32_t ticks_read(void) {
    uint32_t high, low, pending;
    do {
        high = wraps;
        low = -SYST_CVR & TICKS_MASK; /* counts down; 0, where the interrupt comes, is the first tick of a round */
        pending = SCB_ICSR & ICSR_PENDSTSET;
    } while (high != wraps);
    if (pending != 0 && low <= TICKS_MASK / 2u) {
        high++; /* the counter has gone round, its handler has not run yet */
    }
    return high * (TICKS_MASK + 1u) + low;
}

uint8_t port_counter(void) {
    return MSG_COUNTER_SYSTICK;
}

/* SysTick is the core's own, no debugger stops it. */
void port_counter_restart(void) {
}

void ticks_handler(void) {
    wraps++;
}

/* The counter stands still while the core sleeps: an emulator that skips idle time would otherwise run from wrap to
   wrap. */
void serial_before_sleep(void) {
    SYST_CSR &= ~SYST_CSR_ENABLE;
}

void serial_after_sleep(void) {
    SYST_CSR |= SYST_CSR_ENABLE;
}
