#include "vectors.h"

#include "board.h"
#include "sleep.h"
#include "stm32h7b3.h"

/* RM0455, NVIC: vector table. */
VECTORS(155, [RESET] = supply_start, [SYSTICK] = sleep_tick_handler, [INTERRUPT + DMA1_STREAM_0_IRQ] = uart_handler,
        [INTERRUPT + USART1_IRQ] = uart_handler);
