/* The second stage of the boot: the first 256 bytes of the flash, which the boot ROM copies to the top of SRAM, checks
   (the last four are a CRC-32, see seal_boot2.py) and calls (RP2040 data sheet, 2.8.1). It lets the flash be executed
   in place, read over four lines or, where the flash does not allow that, over one. The flash driver calls it too, in a
   copy of its own. No variable, no call: it runs at an address it was not linked for. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rp2040.h"

#define VECTORS 0x10000100u
#define INLINED __attribute__((always_inline)) static inline

/* Commands of the flash (W25Q16JV data sheet, 8.2). Mode bits 5 and 4 of 10b make it take the next address without a
   command (Fast Read Quad I/O with continuous read mode). The boot ROM ends that mode after any reset, and before
   it erases or programs (RP2040 data sheet, 2.8.1, 2.8.3.1.3). */
enum {
    READ_DATA = 0x03,
    READ_STATUS_2 = 0x35,
    READ_QUAD = 0xEB,
    CONTINUOUS = 0xA0,
    STATUS_2_QE = 1 << 1,
    DUMMY_CYCLES = 4,
    CLOCK_DIVIDER = 4, /* 125 MHz / 4 = 31 MHz; 03h may have 50 MHz, EBh 133 MHz */
};

INLINED void set_up(uint32_t control, uint32_t spi_control) {
    SSI_SSIENR = 0;
    SSI_CTRLR0 = control;
    SSI_SPI_CTRLR0 = spi_control;
    SSI_SSIENR = 1;
}

INLINED void exchange(uint32_t first, uint32_t second) {
    SSI_DR0 = first;
    SSI_DR0 = second;
    while ((SSI_SR & (SSI_SR_TFE | SSI_SR_BUSY)) != SSI_SR_TFE) {
    }
}

/* QE is set at the factory in the chips whose name ends in IQ, as a Pico's (W25Q16JV data sheet, status registers).
   Where nobody answers the line says 0xFF. */
INLINED bool quad_allowed(void) {
    SSI_SSIENR = 0;
    SSI_BAUDR = CLOCK_DIVIDER;
    SSI_CTRLR1 = 0; /* one frame a read */
    set_up(SSI_CTRLR0_8_BIT_FRAMES, 0);
    exchange(READ_STATUS_2, 0);
    (void)SSI_DR0;
    const uint32_t status = SSI_DR0;
    return status != 0xFFu && (status & STATUS_2_QE) != 0;
}

/* A line of the cache, 8 bytes, takes 28 cycles of the flash's clock instead of 96. */
INLINED void read_by_four_lines(void) {
    const uint32_t control = SSI_CTRLR0_QUAD | SSI_CTRLR0_EEPROM_READ | SSI_CTRLR0_32_BIT_FRAMES;
    const uint32_t spi_control = SSI_SPI_CTRLR0_32_BIT_ADDRESS | SSI_SPI_CTRLR0_WAIT((uint32_t)DUMMY_CYCLES);
    set_up(control, spi_control | SSI_SPI_CTRLR0_8_BIT_COMMAND | SSI_SPI_CTRLR0_COMMAND_ON_ONE_LINE);
    exchange(READ_QUAD, CONTINUOUS); /* of address 0; the word that it reads goes with the next set_up() */
    set_up(control, spi_control | SSI_SPI_CTRLR0_COMMAND(CONTINUOUS) | SSI_SPI_CTRLR0_ALL_ON_FOUR_LINES);
}

/* The boot ROM calls it with no address to return to (pico-sdk, exit_from_boot2.S). */
__attribute__((section(".boot2"), used)) void boot2(void) {
    const void *const caller = __builtin_return_address(0);
    if (quad_allowed()) {
        read_by_four_lines();
    } else {
        set_up(SSI_CTRLR0_EEPROM_READ | SSI_CTRLR0_32_BIT_FRAMES,
               SSI_SPI_CTRLR0_COMMAND(READ_DATA) | SSI_SPI_CTRLR0_8_BIT_COMMAND | SSI_SPI_CTRLR0_24_BIT_ADDRESS);
    }
    if (caller == NULL) {
        SCB_VTOR = VECTORS;
        const uint32_t stack = REGISTER(VECTORS), start = REGISTER(VECTORS + 4u);
        __asm volatile("msr msp, %0\n bx %1" : : "r"(stack), "r"(start));
    }
}
