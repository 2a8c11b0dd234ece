/* How the flash is read in place: set up by the second stage of the boot, and again after each erase and programming
   (flash.c). Inlined always, for both run where the rest of the program cannot be called. RP2040 data sheet, 4.10.13:
   the SSI, as 2.6.3 uses it to execute in place. */
#pragma once

#include "cortex_m.h"

#define SSI_CTRLR0 REGISTER(0x18000000u)
#define SSI_CTRLR1 REGISTER(0x18000004u)
#define SSI_SSIENR REGISTER(0x18000008u)
#define SSI_BAUDR REGISTER(0x18000014u)
#define SSI_SPI_CTRLR0 REGISTER(0x180000F4u)
#define CTRLR0_EEPROM_READ (3u << 8)
#define CTRLR0_32_BIT_FRAMES (31u << 16)
#define SPI_CTRLR0_COMMAND(command) ((uint32_t)(command) << 24)
#define SPI_CTRLR0_8_BIT_COMMAND (2u << 8)
#define SPI_CTRLR0_24_BIT_ADDRESS (6u << 2)

/* Command 03h is understood by every serial flash, without a mode to set first: a Pico's and its clones', and after any
   reset. A quad read (EBh) fills a line of the cache several times as fast, but the kernels' loops stay in its 16 KB
   (2.6.3.1), and the data are in SRAM. */
enum { READ_DATA = 0x03, CLOCK_DIVIDER = 4 }; /* 125 MHz / 4 = 31 MHz, W25Q16JV allows 50 MHz for 03h */

__attribute__((always_inline)) static inline void xip_start(void) {
    SSI_SSIENR = 0;
    SSI_BAUDR = CLOCK_DIVIDER;
    SSI_CTRLR0 = CTRLR0_EEPROM_READ | CTRLR0_32_BIT_FRAMES;
    SSI_SPI_CTRLR0 = SPI_CTRLR0_COMMAND(READ_DATA) | SPI_CTRLR0_8_BIT_COMMAND | SPI_CTRLR0_24_BIT_ADDRESS;
    SSI_CTRLR1 = 0; /* one frame a read */
    SSI_SSIENR = 1;
}
