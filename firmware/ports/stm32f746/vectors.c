#include "vectors.h"

#include "board.h"
#include "sleep.h"
#include "stm32f746.h"

/* RM0385, NVIC: vector table. */
VECTORS(98, [SYSTICK] = sleep_tick_handler, [INTERRUPT + USART1_IRQ] = uart_handler,
        [INTERRUPT + DMA2_STREAM_2_IRQ] = uart_handler, [INTERRUPT + DMA2_STREAM_7_IRQ] = uart_handler);
