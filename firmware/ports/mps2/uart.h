#pragma once

/* UART0, 8 data bits, no parity, 1 stop bit. */
void uart_start(void);

void uart_receive_handler(void);
void uart_transmit_handler(void);
