#pragma once

#include <stdint.h>

/* USART1 on PA9 (TX) and PA10 (RX), the virtual COM port of the on-board ST-LINK; 8 data bits, no
   parity, 1 stop bit. */
void uart_start(uint32_t kernel_clock_hz);

/* The handler of USART1 and of its DMA stream. */
void uart_handler(void);
