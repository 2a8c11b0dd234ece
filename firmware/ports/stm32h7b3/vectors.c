#include "agent/fault.h"
#include "reset.h"
#include "sleep.h"
#include "stm32h7b3.h"
#include "uart.h"

/* Places in the table after the stack pointer; the chip has 155 interrupts (RM0455, NVIC: vector table). */
enum { RESET = 0, SYSTICK = 14, DMA1_STREAM_0 = 15 + DMA1_STREAM_0_IRQ, USART1 = 15 + USART1_IRQ, LAST = 15 + 154 };

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
            [SYSTICK + 1 ... DMA1_STREAM_0 - 1] = fault_handler,
            [DMA1_STREAM_0] = uart_handler,
            [DMA1_STREAM_0 + 1 ... USART1 - 1] = fault_handler,
            [USART1] = uart_handler,
            [USART1 + 1 ... LAST] = fault_handler,
        },
};
