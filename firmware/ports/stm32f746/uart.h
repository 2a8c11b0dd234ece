#pragma once

#include <stdint.h>

/* What is being sent lies in the last bytes of SRAM2, 2^UART_SEND_LOG2 of them (memory.ld), where the caches must not
   cover it. */
#define UART_SEND_BASE 0x2004FE00u
#define UART_SEND_LOG2 9u

/* USART1 on PA9 (TX) and PB7 (RX), the virtual COM port of the on-board ST-LINK; 8 data bits, no parity, 1 stop bit. */
void uart_start(uint32_t kernel_clock_hz);

/* The handler of USART1 and of its two DMA streams. */
void uart_handler(void);
