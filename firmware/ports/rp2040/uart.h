#ifndef UART_H
#define UART_H

/* UART0, 8 data bits, no parity, 1 stop bit. */
void uart_start(void);

void uart0_handler(void);

#endif
