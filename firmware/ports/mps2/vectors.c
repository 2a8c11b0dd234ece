#include "agent/fault.h"
#include "mps2.h"
#include "reset.h"
#include "ticks.h"
#include "uart.h"

/* Places in the table after the stack pointer. */
enum {
    RESET = 0,
    SYSTICK = 14,
    UART0_RX = 15 + BOARD_UART0_RX_IRQ,
    UART0_TX = 15 + BOARD_UART0_TX_IRQ,
    LAST = 14 + BOARD_IRQS,
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
            [RESET + 1 ... SYSTICK - 1] = fault_handler,
            [SYSTICK] = ticks_handler,
#if BOARD_UART0_RX_IRQ > 0
            [SYSTICK + 1 ... UART0_RX - 1] = fault_handler,
#endif
            [UART0_RX] = uart_receive_handler,
            [UART0_TX] = uart_transmit_handler,
            [UART0_TX + 1 ... LAST] = fault_handler,
        },
};
