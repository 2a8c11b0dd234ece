#pragma once

#define COUNTER_TIMER 1u
#define SILENCE_TIMER 2u

/* UARTE0, 8 data bits, no parity, 1 stop bit; with TIMER1, TIMER2 and PPI channels 0 to 2. */
void uart_start(void);

/* The handler of UARTE0 and of the timer of silence. */
void uart_handler(void);
