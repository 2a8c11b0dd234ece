/* Constants of the Raspberry Pi Pico (RP2040, 12 MHz crystal, W25Q16 flash). */
#pragma once

#define BOARD_RX_RING 4096u
#define BOARD_BAUD 921600u
#define BOARD_CRYSTAL_HZ 12000000u

/* UART0 on GP0 and GP1 (pins 1 and 2), as the Debug Probe and every Pico example have it; marker on GP2 (pin 4), beside
   them. */
#define BOARD_TX_PIN 0u
#define BOARD_RX_PIN 1u
#define BOARD_MARKER_PIN 2u
