/* Constants of the board 32F746GDISCOVERY. */
#pragma once

#define BOARD_RX_RING 8192u
#define BOARD_BAUD 921600u

/* The crystal at OSC_IN (UM1907, clock sources: X2). */
#define BOARD_HSE_HZ 25000000u

/* Marker: Arduino connector D8 (UM1907, ARDUINO connectors). A user LED would draw current of its own while the meter
   looks. */
#define BOARD_MARKER_PORT GPIOI
#define BOARD_MARKER_PIN 2u

#define BOARD_DWT_LOCKED 1 /* the lock is CoreSight's and exists on Cortex-M7 (ARM DDI 0489, DWT) */
