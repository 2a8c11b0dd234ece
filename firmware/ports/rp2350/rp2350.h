/* Registers of RP2350 that the port uses, by chapter of the RP2350 data sheet. */
#pragma once

#include "rp2.h"

/* Bootrom: a pointer of 16 bits, placed by memory.ld (a compiler takes an address so near zero for a mistake) */
extern const volatile uint16_t rom_table_lookup;

/* Boot RAM: its first 256 bytes are code by which the boot ROM lets the flash be executed in place as it found it */
#define FLASH_SET_UP 0x400E0000u

/* Address map */
#define CLOCKS_BASE 0x40010000u
#define RESETS_BASE 0x40020000u
#define IO_BANK0_BASE 0x40028000u
#define PADS_BANK0_BASE 0x40038000u
#define XOSC_BASE 0x40048000u
#define PLL_SYS_BASE 0x40050000u
#define PLL_STEP 0x8000u /* to that of USB */
#define UART0_BASE 0x40070000u
#define TIMER_BASE 0x400B0000u
#define WATCHDOG_BASE 0x400D8000u
#define TICKS_BASE 0x40108000u
#define DMA_BASE 0x50000000u
#define SIO_BASE 0xD0000000u

/* DMA */
#define DMA_CHAN_ABORT REGISTER(DMA_BASE + 0x464u)
#define DMA_CTRL_INCR_WRITE (1u << 6)
#define DMA_CTRL_WRITE_RING(log2) ((uint32_t)(log2) << 8 | 1u << 12)
#define DMA_CTRL_CHAIN_TO(n) ((n) << 13) /* itself: no other */
#define DMA_CTRL_REQUEST(n) ((n) << 17)
#define DMA_CTRL_BUSY (1u << 26)
#define DREQ_UART0_RX 29u

/* Resets: subsystem resets */
#define RESETS_ALL 0x1FFFFFFFu
#define RESETS_IO_BANK0 (1u << 6)
#define RESETS_IO_QSPI (1u << 7)
#define RESETS_PADS_BANK0 (1u << 9)
#define RESETS_PADS_QSPI (1u << 10)
#define RESETS_PLL_SYS (1u << 14)
#define RESETS_TIMER (1u << 23)
#define RESETS_UART0 (1u << 26)

/* Clocks */
#define CLK_UNDIVIDED (1u << 16)

/* Clocks: tick generators. Each block has its own. */
#define TICKS_TIMER0_CTRL REGISTER(TICKS_BASE + 0x18u)
#define TICKS_TIMER0_CYCLES REGISTER(TICKS_BASE + 0x1Cu)
#define TICKS_ENABLE (1u << 0)

/* System timers */
#define TIMER_INTR REGISTER(TIMER_BASE + 0x3Cu)
#define TIMER_INTE (TIMER_BASE + 0x40u)

/* Interrupts */
#define UART0_IRQ 33u

/* SIO: GPIO control */
#define SIO_OUT_SET REGISTER(SIO_BASE + 0x18u)
#define SIO_OUT_CLEAR REGISTER(SIO_BASE + 0x20u)
#define SIO_OE_SET REGISTER(SIO_BASE + 0x38u)

/* Cortex-M33 coprocessors: the redundancy coprocessor, which the boot ROM's functions use */
#define CPACR_REDUNDANCY (3u << 14)
