/* Constants of the board: Teensy 4.0, Teensy 4.1 and MicroMod Teensy, as far as this program is concerned the same. */
#pragma once

#define BOARD_RX_RING 8192u
#define BOARD_BAUD 921600u

/* Marker: pin 2, beside the serial port's pins 0 and 1; pad GPIO_EMC_04 (PJRC's pin table). The LED on pin 13 would
   draw current of its own. */
#define BOARD_MARKER_PORT GPIO4
#define BOARD_MARKER_PIN 4u

#define BOARD_DWT_LOCKED 1 /* the lock is CoreSight's and exists on Cortex-M7 (ARM DDI 0489, DWT) */
