#include "board.h"

#include "agent/port.h"
#include "nrf52840.h"

static volatile bool rung;

void alarm_handler(void) {
    if (happened(&TIMER_EVENTS_COMPARE0(ALARM_TIMER))) {
        rung = true;
    }
}

/* Not SysTick: it stops with the processor's clock while the core sleeps (Product Specification, CPU). */
void port_sleep_ms(uint32_t ms) {
    if (ms == 0) {
        return;
    }
    rung = false;
    TIMER_BITMODE(ALARM_TIMER) = TIMER_BITMODE_32;
    TIMER_PRESCALER(ALARM_TIMER) = TIMER_PRESCALER_1_MHZ;
    TIMER_SHORTS(ALARM_TIMER) = TIMER_SHORTS_COMPARE0_CLEAR | TIMER_SHORTS_COMPARE0_STOP;
    TIMER_INTENSET(ALARM_TIMER) = TIMER_INT_COMPARE0;
    NVIC_ISER(TIMER_IRQ(ALARM_TIMER)) = NVIC_BIT(TIMER_IRQ(ALARM_TIMER));
    TIMER_CC0(ALARM_TIMER) = 1000u * ms;
    TIMER_TASKS_CLEAR(ALARM_TIMER) = 1;
    TIMER_TASKS_START(ALARM_TIMER) = 1;
    sleep_until(&rung);
}
