/* Milliseconds since the start, from the processor's SysTick (ARMv7-M Architecture Reference Manual, B3.3). */
#include <stdint.h>

typedef struct {
    volatile uint32_t control, reload, value;
} systick_t;

#define SYSTICK ((systick_t *)0xE000E010u)
enum { CLOCK_HZ = 25000000, ENABLE = 1, INTERRUPT = 2, PROCESSOR_CLOCK = 4 };

static volatile uint32_t milliseconds;

void SysTick_Handler(void) {
    milliseconds = milliseconds + 1;
}

uint32_t uptime_ms(void) {
    if (SYSTICK->control == 0) {
        SYSTICK->reload = CLOCK_HZ / 1000 - 1;
        SYSTICK->value = 0;
        SYSTICK->control = ENABLE | INTERRUPT | PROCESSOR_CLOCK;
    }
    return milliseconds;
}
