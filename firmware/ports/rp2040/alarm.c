#include "alarm.h"

#include <stdbool.h>
#include <stdint.h>

#include "agent/port.h"
#include "rp2040.h"

static volatile bool rung;

void alarm_handler(void) {
    TIMER_INTR = TIMER_ALARM0_BIT;
    rung = true;
}

void port_sleep_ms(uint32_t ms) {
    if (ms == 0) {
        return;
    }
    rung = false;
    TIMER_INTE = TIMER_ALARM0_BIT;
    NVIC_ISER(TIMER_IRQ_0) = NVIC_BIT(TIMER_IRQ_0);
    TIMER_ALARM0 = TIMER_TIMERAWL + 1000u * ms;
    while (!rung) {
        interrupts_mask();
        if (!rung) {
            wait_for_interrupt();
        }
        interrupts_unmask();
    }
}
