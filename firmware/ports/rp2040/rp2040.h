/* Registers of RP2040 that the port uses, by section of the RP2040 data sheet. */
#pragma once

#include "rp2.h"

/* 2.8.3 Bootrom contents: pointers of 16 bits, placed by memory.ld (a compiler takes an address so near zero for a
   mistake) */
extern const volatile uint16_t rom_function_table, rom_table_lookup;

/* 2.8.1: the second stage of the boot, the first 256 bytes of the flash */
#define FLASH_SET_UP 0x10000000u

/* 2.2 Address map */
#define CLOCKS_BASE 0x40008000u
#define RESETS_BASE 0x4000C000u
#define IO_BANK0_BASE 0x40014000u
#define PADS_BANK0_BASE 0x4001C000u
#define XOSC_BASE 0x40024000u
#define PLL_SYS_BASE 0x40028000u
#define UART0_BASE 0x40034000u
#define TIMER_BASE 0x40054000u
#define WATCHDOG_BASE 0x40058000u
#define DMA_BASE 0x50000000u

/* 2.5 DMA */
#define DMA_CHAN_ABORT REGISTER(DMA_BASE + 0x444u)
#define DMA_CTRL_INCR_WRITE (1u << 5)
#define DMA_CTRL_WRITE_RING(log2) ((uint32_t)(log2) << 6 | 1u << 10)
#define DMA_CTRL_CHAIN_TO(n) ((n) << 11) /* itself: no other */
#define DMA_CTRL_REQUEST(n) ((n) << 15)
#define DMA_CTRL_BUSY (1u << 24)
#define DREQ_UART0_RX 21u

/* 2.14 Subsystem resets */
#define RESETS_ALL 0x1FFFFFFu
#define RESETS_IO_BANK0 (1u << 5)
#define RESETS_IO_QSPI (1u << 6)
#define RESETS_PADS_BANK0 (1u << 8)
#define RESETS_PADS_QSPI (1u << 9)
#define RESETS_PLL_SYS (1u << 12)
#define RESETS_TIMER (1u << 21)
#define RESETS_UART0 (1u << 22)

/* 2.15 Clocks */
#define CLK_UNDIVIDED (1u << 8)

/* 4.7 Watchdog: its tick drives the timer */
#define WATCHDOG_TICK REGISTER(WATCHDOG_BASE + 0x2Cu)
#define WATCHDOG_TICK_ENABLE (1u << 9)

/* 4.6 Timer */
#define TIMER_INTR REGISTER(TIMER_BASE + 0x34u)
#define TIMER_INTE (TIMER_BASE + 0x38u)

/* 2.3.2 Interrupts */
#define UART0_IRQ 20u

/* 4.10 SSI, as 2.6.3 uses it to execute in place */
#define SSI_CTRLR0 REGISTER(0x18000000u)
#define SSI_CTRLR0_EEPROM_READ (3u << 8)
#define SSI_CTRLR0_8_BIT_FRAMES (7u << 16)
#define SSI_CTRLR0_32_BIT_FRAMES (31u << 16)
#define SSI_CTRLR0_QUAD (2u << 21)
#define SSI_CTRLR1 REGISTER(0x18000004u)
#define SSI_SSIENR REGISTER(0x18000008u)
#define SSI_BAUDR REGISTER(0x18000014u)
#define SSI_SR REGISTER(0x18000028u)
#define SSI_SR_BUSY (1u << 0)
#define SSI_SR_TFE (1u << 2)
#define SSI_DR0 REGISTER(0x18000060u)
#define SSI_SPI_CTRLR0 REGISTER(0x180000F4u)
#define SSI_SPI_CTRLR0_COMMAND_ON_ONE_LINE (1u << 0)
#define SSI_SPI_CTRLR0_ALL_ON_FOUR_LINES (2u << 0)
#define SSI_SPI_CTRLR0_24_BIT_ADDRESS (6u << 2)
#define SSI_SPI_CTRLR0_32_BIT_ADDRESS (8u << 2) /* with the mode bits */
#define SSI_SPI_CTRLR0_8_BIT_COMMAND (2u << 8)
#define SSI_SPI_CTRLR0_WAIT(cycles) ((cycles) << 11)
#define SSI_SPI_CTRLR0_COMMAND(command) ((uint32_t)(command) << 24)

/* 2.3.1 SIO */
#define SIO_OUT_SET REGISTER(0xD0000014u)
#define SIO_OUT_CLEAR REGISTER(0xD0000018u)
#define SIO_OE_SET REGISTER(0xD0000024u)
