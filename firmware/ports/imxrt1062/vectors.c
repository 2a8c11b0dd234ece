#include "agent/fault.h"
#include "imxrt1062.h"
#include "reset.h"
#include "sleep.h"
#include "uart.h"

/* Places in the table after the stack pointer; the chip has 158 interrupts (NXP's device header). */
enum { RESET = 0, SYSTICK = 14, DMA_0 = 15, DMA_1 = 16, UART = 15 + LPUART6_IRQ, LAST = 15 + 157 };

typedef struct {
    uint32_t *stack;
    vector_t handlers[LAST + 1];
} vector_table_t;

/* A handler that is not named below is not expected and reports itself as a fault. The alignment is VTOR's: a power of
   two that holds all of it. */
__attribute__((section(".vectors"), used, aligned(1024))) static const vector_table_t vectors = {
    .stack = __stack_top,
    .handlers =
        {
            [RESET] = reset_handler,
            [RESET + 1 ... SYSTICK - 1] = fault_handler,
            [SYSTICK] = sleep_end_handler,
            [DMA_0] = uart_handler,
            [DMA_1] = uart_handler,
            [DMA_1 + 1 ... UART - 1] = fault_handler,
            [UART] = uart_handler,
            [UART + 1 ... LAST] = fault_handler,
        },
};
