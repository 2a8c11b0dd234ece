/* The Raspberry Pi Pico (RP2040, 12 MHz crystal, W25Q16 flash), and what the files of its port share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/* The pair that Raspberry Pi allows to every program on an RP2040 with a standard function, to be told apart by its
   strings (github.com/raspberrypi/usb-pid, Readme.md, "Use of the IDs"; entry 0x000A). */
#define BOARD_USB_VENDOR 0x2E8Au
#define BOARD_USB_PRODUCT 0x000Au
#define BOARD_USB_BULK 64
#define BOARD_USB_PACKETS 1
#define BOARD_BOOT_LOADER_BAUD 1200u

/* USB, from now on whenever a cable is there; a second port of the agent. */
void usb_start(void);

/* The handler of the pin that tells of the cable. */
void cable_handler(void);

/* The flash's own number; false if the boot ROM lacks what reads it. */
bool flash_unique_id(uint8_t id[8]);

/* 48 MHz for USB, from the crystal; and no longer. */
void usb_clock_start(void);
void usb_clock_stop(void);
