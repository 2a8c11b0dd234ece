/* The Raspberry Pi Pico (RP2040, 12 MHz crystal, W25Q16 flash), and what the files of its port share. */
#pragma once

#define BOARD_RX_RING 4096u
#define BOARD_BAUD 921600u
#define BOARD_CRYSTAL_HZ 12000000u
#define CLOCK_HZ 125000000u

/* UART0 on GP0 and GP1 (pins 1 and 2), as the Debug Probe and every Pico example have it; marker on GP2 (pin 4), beside
   them. */
#define BOARD_TX_PIN 0u
#define BOARD_RX_PIN 1u
#define BOARD_MARKER_PIN 2u

/* UART0, 8 data bits, no parity, 1 stop bit. */
void uart_start(void);

/* The handler of UART0 and of the alarm that ends its silence. */
void uart_handler(void);

/* The handler of the alarm that ends a sleep of known length. */
void alarm_handler(void);

/* Core and peripherals at 125 MHz from the crystal, a tick of 1 MHz for the timer. */
void clock_start(void);
