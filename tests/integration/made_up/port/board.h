/* Constants of the made-up board. */
#pragma once

#define BOARD_RX_RING 4096u
#define BOARD_BAUD 1000000u
#define BOARD_TX_PIN 24u
#define BOARD_RX_PIN 25u
#define BOARD_MARKER_PIN 12u
#define BOARD_DWT_LOCKED 0
