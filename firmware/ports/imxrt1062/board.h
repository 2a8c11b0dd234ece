/* The board, and what the files of its port share. Teensy 4.0, Teensy 4.1 and MicroMod Teensy are the same as far as
   this program is concerned. */
#pragma once

#include <stdint.h>

#include "imxrt1062.h"

#define BOARD_RX_RING 8192u
#define BOARD_BAUD 921600u

enum { OSC_HZ = 24000000 };

/* Marker: pin 2, beside the serial port's pins 0 and 1; pad GPIO_EMC_04 (PJRC's pin table). The LED on pin 13 would
   draw current of its own. */
#define BOARD_MARKER_PORT GPIO4
#define BOARD_MARKER_PIN 4u

#define BOARD_DWT_LOCKED 1 /* the lock is CoreSight's and exists on Cortex-M7 (ARM DDI 0489, DWT) */

/* LPUART6 on pins 0 (receive) and 1 (transmit), 8N1 at BOARD_BAUD, by eDMA in both directions. */
void uart_start(void);

/* The handler of LPUART6's interrupt and of both DMA channels'. */
void uart_handler(void);

/* 1.25 V, PLL1 at 1200 MHz and the core at half of it; the UARTs' clock from the 24 MHz crystal. Returns the core's
   frequency in Hz: that of the crystal where the voltage or the PLL does not come up. */
uint32_t clock_start(void);

/* Stop the three watchdogs; RTWDOG runs from reset on. */
void watchdogs_stop(void);

/* The first instructions of the program: cut FlexRAM, whose 16 banks of 32 KB are shared among ITCM, DTCM and OCRAM, as
   memory.ld has it, then go on to reset_handler(). */
void flexram_start(void);

/* The pair of every serial port that PJRC's core makes on these boards (teensy4/usb_desc.h), to be told apart by its
   strings; PJRC's udev rule and loader know it, and ask by its rate for the boot loader. */
#define BOARD_USB_VENDOR 0x16C0u
#define BOARD_USB_PRODUCT 0x0483u
#define BOARD_USB_BULK 512
#define BOARD_USB_PACKETS 4
#define BOARD_BOOT_LOADER_BAUD 134u

/* USB, from now on whenever a cable is there; a second port of the agent. */
void usb_start(void);

/* Its supply, clocks and PHY. */
void usb_set_up(void);

/* Off the bus, for good. */
void usb_leave(void);

/* The handler of SysTick, the tick that ends a sleep of known length. */
void sleep_end_handler(void);
