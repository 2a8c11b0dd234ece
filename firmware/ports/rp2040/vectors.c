#include "agent/fault.h"
#include "alarm.h"
#include "reset.h"
#include "rp2040.h"
#include "ticks.h"
#include "uart.h"

/* Places in the table after the stack pointer; the processor has 32 interrupts, of which 26 are used (RP2040 data
   sheet, 2.3.2). */
enum {
    RESET = 0,
    SYSTICK = 14,
    SLEEP = 15 + TIMER_IRQ(SLEEP_ALARM),
    SILENCE = 15 + TIMER_IRQ(UART_ALARM),
    UART0 = 15 + UART0_IRQ,
    LAST = 15 + 31
};

typedef struct {
    uint32_t *stack;
    vector_t handlers[LAST + 1];
} vector_table_t;

/* A handler that is not named below is not expected and reports itself as a fault. */
__attribute__((section(".vectors"), used, aligned(256))) static const vector_table_t vectors = {
    .stack = __stack_top,
    .handlers =
        {
            [RESET] = reset_handler,
            [RESET + 1 ... SYSTICK - 1] = fault_handler,
            [SYSTICK] = ticks_handler,
            [SLEEP] = alarm_handler,
            [SILENCE] = uart_handler,
            [SILENCE + 1 ... UART0 - 1] = fault_handler,
            [UART0] = uart_handler,
            [UART0 + 1 ... LAST] = fault_handler,
        },
};
