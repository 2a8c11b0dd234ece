/* The nRF52840 DK (PCA10056), and what the files of its port share. */
#pragma once

#define BOARD_RX_RING 4096u
/* The on-board J-Link's serial port does not do 921,600 (Nordic, DK hardware, virtual serial port); the UARTE meets
   this one exactly. */
#define BOARD_BAUD 1000000u

/* P0.06 and P0.08 go to the on-board J-Link, and P0.05 and P0.07, its flow control, which is not used: uart.c. */
#define BOARD_RTS_PIN 5u
#define BOARD_TX_PIN 6u
#define BOARD_RX_PIN 8u

/* Marker: Arduino connector D8, P1.10. An LED would draw current of its own while the meter looks. */
#define BOARD_MARKER_PIN 10u

#define BOARD_DWT_LOCKED 0 /* CoreSight's lock came with Cortex-M7 */

#define CLOCK_HZ 64000000u
#define ALARM_TIMER 0u
#define COUNTER_TIMER 1u
#define SILENCE_TIMER 2u

/* UARTE0, 8 data bits, no parity, 1 stop bit; with TIMER1, TIMER2 and PPI channels 0 to 2. */
void uart_start(void);

/* The handler of UARTE0 and of the timer of silence. */
void uart_handler(void);

/* The handler of the timer that ends a sleep of known length. */
void alarm_handler(void);

/* The 32 MHz crystal as source of everything fast. */
void clock_start(void);

/* Keep the debug port as open as UICR says, on the revisions that close it at every start. May reset the chip, once. */
void protect_start(void);
