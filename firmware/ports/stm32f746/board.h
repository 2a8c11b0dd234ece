/* Constants of the board 32F746GDISCOVERY. */
#pragma once

#include "stm32f746.h"

#define BOARD_NAME "stm32f746"
#define BOARD_RX_RING 8192u
#define BOARD_BAUD 921600u

/* The crystal at OSC_IN (UM1907, clock sources: X2). */
#define BOARD_HSE_HZ 25000000u

/* Marker: Arduino connector D8 (UM1907, ARDUINO connectors). A user LED would draw current of its own while the meter
   looks. */
#define BOARD_MARKER_PORT GPIOI
#define BOARD_MARKER_PIN 2u

#define BOARD_DWT_LOCKED 1 /* the lock is CoreSight's and exists on Cortex-M7 (ARM DDI 0489, DWT) */

/* What is being sent lies in the last bytes of SRAM2, 2^UART_SEND_LOG2 of them (memory.ld), where the caches must not
   cover it. */
#define UART_SEND_BASE 0x2004FE00u
#define UART_SEND_LOG2 9u
