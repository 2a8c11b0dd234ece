#include "agent/fault.h"
#include "reset.h"
#include "sleep.h"
#include "stm32f746.h"
#include "uart.h"

/* Places in the table after the stack pointer; the chip has 98 interrupts (RM0385, NVIC: vector table). */
enum {
    RESET = 0,
    SYSTICK = 14,
    USART1 = 15 + USART1_IRQ,
    RECEIVED = 15 + DMA2_STREAM_2_IRQ,
    SENT = 15 + DMA2_STREAM_7_IRQ,
    LAST = 15 + 97,
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
            [SYSTICK] = sleep_tick_handler,
            [SYSTICK + 1 ... USART1 - 1] = fault_handler,
            [USART1] = uart_handler,
            [USART1 + 1 ... RECEIVED - 1] = fault_handler,
            [RECEIVED] = uart_handler,
            [RECEIVED + 1 ... SENT - 1] = fault_handler,
            [SENT] = uart_handler,
            [SENT + 1 ... LAST] = fault_handler,
        },
};
