/* Constants of the board STM32H7B3I-DK. */
#pragma once

#include "stm32h7b3.h"

#define BOARD_NAME "stm32h7b3"
#define BOARD_RX_RING 8192u
#define BOARD_BAUD 921600u

/* The crystal at OSC_IN (UM2569, clock sources; Zephyr, stm32h7b3i_dk.dts). */
#define BOARD_HSE_HZ 24000000u

/* Marker: Arduino connector D8 (UM2569, ARDUINO connectors). A user LED would draw current of its own while the meter
   looks. */
#define BOARD_MARKER_PORT GPIOF
#define BOARD_MARKER_PIN 10u

#define BOARD_DWT_LOCKED 1 /* the lock is CoreSight's and exists on Cortex-M7 (ARM DDI 0489, DWT) */

/* Tens of milliseconds at 64 MHz, where the slowest flag, of the crystal, needs a few. */
#define BOARD_READY_POLLS 1000000u

/* The first instructions of the program: the supply, then reset_handler(). */
void supply_start(void);
