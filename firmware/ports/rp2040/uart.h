#pragma once

/* UART0, 8 data bits, no parity, 1 stop bit. */
void uart_start(void);

/* The handler of UART0 and of the alarm that ends its silence. */
void uart_handler(void);
