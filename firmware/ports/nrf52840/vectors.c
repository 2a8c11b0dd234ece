#include "agent/fault.h"
#include "alarm.h"
#include "nrf52840.h"
#include "reset.h"
#include "uart.h"

/* Places in the table after the stack pointer; the chip has 48 interrupts (Product Specification, instantiation: a
   peripheral's interrupt is its number in the address map). */
enum {
    RESET = 0,
    UARTE0 = 15 + UARTE0_IRQ,
    ALARM = 15 + TIMER_IRQ(ALARM_TIMER),
    SILENCE = 15 + TIMER_IRQ(SILENCE_TIMER),
    LAST = 15 + 47
};

typedef struct {
    uint32_t *stack;
    vector_t handlers[LAST + 1];
} vector_table_t;

/* A handler that is not named below is not expected and reports itself as a fault. */
__attribute__((section(".vectors"), used)) static const vector_table_t vectors = {
    .stack = __stack_top,
    .handlers =
        {
            [RESET] = reset_handler,
            [RESET + 1 ... UARTE0 - 1] = fault_handler,
            [UARTE0] = uart_handler,
            [UARTE0 + 1 ... ALARM - 1] = fault_handler,
            [ALARM] = alarm_handler,
            [ALARM + 1 ... SILENCE - 1] = fault_handler,
            [SILENCE] = uart_handler,
            [SILENCE + 1 ... LAST] = fault_handler,
        },
};
