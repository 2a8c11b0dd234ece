#include "vectors.h"

#include "board.h"
#include "nrf52840.h"

/* Product Specification, instantiation: a peripheral's interrupt is its number in the address map. */
VECTORS(48, [INTERRUPT + UARTE0_IRQ] = uart_handler, [INTERRUPT + TIMER_IRQ(ALARM_TIMER)] = alarm_handler,
        [INTERRUPT + TIMER_IRQ(SILENCE_TIMER)] = uart_handler);
