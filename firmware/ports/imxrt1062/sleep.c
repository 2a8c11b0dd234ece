#include "board.h"

#include <stdbool.h>
#include <stdint.h>

#include "agent/port.h"
#include "cortex_m.h"

/* SysTick's own clock is 100 kHz here: the crystal's 24 MHz through a divider that the manual does not mention (PJRC,
   teensy4/startup.c). With 24 bits one round of it lasts up to 167 s. */
enum { TICKS_PER_MS = 100, LONGEST_MS = 160000 };

static volatile bool rung;

void sleep_end_handler(void) {
    SYST_CSR = 0;
    rung = true;
}

static void sleep_once(uint32_t ms) {
    rung = false;
    SYST_RVR = TICKS_PER_MS * ms; /* a tick more: the first may be short */
    SYST_CVR = 0;
    SYST_CSR = SYST_CSR_TICKINT | SYST_CSR_ENABLE;
    sleep_until(&rung);
}

void port_sleep_ms(uint32_t ms) {
    for (; ms > LONGEST_MS; ms -= LONGEST_MS) {
        sleep_once(LONGEST_MS);
    }
    if (ms > 0) {
        sleep_once(ms);
    }
}
