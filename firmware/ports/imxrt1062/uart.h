#pragma once

/* LPUART6 on pins 0 (receive) and 1 (transmit), 8N1 at BOARD_BAUD, by eDMA in both directions. */
void uart_start(void);

/* The handler of LPUART6's interrupt and of both DMA channels'. */
void uart_handler(void);
