/* Constants of the nRF52840 DK (PCA10056). */
#pragma once

#define BOARD_RX_RING 4096u
/* The on-board J-Link's serial port does not do 921,600 (Nordic, DK hardware, virtual serial port); the UARTE meets
   this one exactly. */
#define BOARD_BAUD 1000000u

/* P0.06 and P0.08 go to the on-board J-Link; P0.05 and P0.07, its flow control, are not used. */
#define BOARD_TX_PIN 6u
#define BOARD_RX_PIN 8u

/* Marker: Arduino connector D8, P1.10. An LED would draw current of its own while the meter looks. */
#define BOARD_MARKER_PIN 10u

#define BOARD_DWT_LOCKED 0 /* CoreSight's lock came with Cortex-M7 */
