/* The Raspberry Pi Pico 2 (RP2350A, 12 MHz crystal, 4 MB of flash), and what the files of its port share. */
#pragma once

#include "rp2350.h"

#define BOARD_NAME "rp2350"
#define BOARD_RX_RING 4096u
#define BOARD_BAUD 921600u
#define BOARD_FLASH_BYTES 0x400000
#define BOARD_CRYSTAL_HZ 12000000u
#define CLOCK_HZ 150000000u /* 12 MHz * 125 / 5 / 2 */
#define BOARD_PLL_POST_1 5u
#define BOARD_PLL_POST_2 2u
#define BOARD_DWT_LOCKED 0 /* CoreSight's lock came with Cortex-M7, and went with Armv8-M */

/* As on a Pico: UART0 on GP0 and GP1 (pins 1 and 2), marker on GP2 (pin 4). */
#define BOARD_TX_PIN 0u
#define BOARD_RX_PIN 1u
#define BOARD_MARKER_PIN 2u
