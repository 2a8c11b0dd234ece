/* Interrupt-driven serial line: two rings between the agent and a UART. Implements port_uart_read(), port_uart_write(),
   port_uart_write_polled(), port_rx_window() and port_wait(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the board implements. */

/* Move queued bytes to the transmitter while it takes them, and let it interrupt while more are queued. Interrupts are
   masked. */
void uart_pump(void);

/* Do what the interrupt handlers would, without entering one, and forget what they had pending.
   Interrupts are masked. */
void uart_poll(void);

/* Wait until the transmitter takes a byte, and give it that byte. */
void uart_put_polled(uint8_t byte);

/* Just before and after the core sleeps in port_wait(). */
void serial_before_sleep(void);
void serial_after_sleep(void);

/* What the UART driver calls, with interrupts masked or in its handler. */

/* Store a received byte; a byte that finds the ring full is dropped, and the link's CRC will tell. */
void serial_received(uint8_t byte);

/* Whether a receiver without DMA may take another byte now. After false the driver leaves what is waiting in the
   receiver, and keeps it from interrupting: the program asks again with uart_poll() as soon as it has read. An
   emulator's receiver may be full again as soon as a byte is taken: a handler that emptied it would keep the program
   from answering. */
bool serial_wants_more(void);

/* Whether n bytes, of one packet, may be given to serial_received() now. After false the driver leaves them where they
   are: the program asks again with uart_poll() as soon as it has read. */
bool serial_has_room(size_t n);

/* Take the next byte to send; false when none is queued. */
bool serial_next(uint8_t *byte);

/* Whether bytes are queued to be sent. */
bool serial_pending(void);
