#include <stdbool.h>
#include <stdint.h>

#include "agent/port.h"
#include "board.h"

static volatile bool rung;

void alarm_handler(void) {
    rung = true;
    TIMER_INTR = 1u << SLEEP_ALARM;
    (void)TIMER_INTR; /* the write has arrived: the interrupt does not come again (ARM AN321, memory barriers) */
}

void port_sleep_ms(uint32_t ms) {
    if (ms == 0) {
        return;
    }
    rung = false;
    ATOMIC_SET(TIMER_INTE) = 1u << SLEEP_ALARM;
    NVIC_ISER(TIMER_IRQ(SLEEP_ALARM)) = NVIC_BIT(TIMER_IRQ(SLEEP_ALARM));
    TIMER_ALARM(SLEEP_ALARM) = TIMER_TIMERAWL + 1000u * ms;
    sleep_until(&rung);
}
