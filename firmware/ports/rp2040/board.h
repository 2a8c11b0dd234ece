/* The Raspberry Pi Pico (RP2040, 12 MHz crystal, W25Q16 flash). */
#pragma once

#include "rp2040.h"

#define BOARD_NAME "rp2040"
#define BOARD_RX_RING 4096u
#define BOARD_BAUD 921600u
#define BOARD_FLASH_BYTES 0x200000
#define BOARD_CRYSTAL_HZ 12000000u
#define CLOCK_HZ 125000000u /* 12 MHz * 125 / 6 / 2 */
#define BOARD_PLL_POST_1 6u
#define BOARD_PLL_POST_2 2u

/* UART0 on GP0 and GP1 (pins 1 and 2), as the Debug Probe and every Pico example have it; marker on GP2 (pin 4), beside
   them. */
#define BOARD_TX_PIN 0u
#define BOARD_RX_PIN 1u
#define BOARD_MARKER_PIN 2u
