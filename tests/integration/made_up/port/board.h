/* Constants of the made-up board, and what the files of the nRF52840's port share. */
#pragma once

#define BOARD_RX_RING 4096u
#define BOARD_BAUD 1000000u
#define BOARD_TX_PIN 24u
#define BOARD_RX_PIN 25u
#define BOARD_RTS_PIN 5u
#define BOARD_MARKER_PIN 12u
#define BOARD_DWT_LOCKED 0

#define CLOCK_HZ 64000000u
#define ALARM_TIMER 0u
#define COUNTER_TIMER 1u
#define SILENCE_TIMER 2u

void uart_start(void);
void uart_handler(void);
void alarm_handler(void);
void clock_start(void);
void protect_start(void);
