/* Registers of RP2040 that the port uses, by section of the RP2040 data sheet. */
#pragma once

#include "cortex_m.h"

/* 2.1.2: writes to an alias set or clear bits. */
#define ATOMIC_SET(address) REGISTER((address) + 0x2000u)
#define ATOMIC_CLEAR(address) REGISTER((address) + 0x3000u)

/* 2.8.3 Bootrom contents: pointers of 16 bits, placed by memory.ld (a compiler takes an address so near zero for a
   mistake) */
extern const volatile uint16_t rom_function_table, rom_table_lookup;

/* 2.5 DMA; a channel's last word of each four starts it */
#define DMA_CHANNEL(n) (0x50000000u + 0x40u * (n))
#define DMA_READ_ADDR(n) REGISTER(DMA_CHANNEL(n) + 0x00u)
#define DMA_WRITE_ADDR(n) REGISTER(DMA_CHANNEL(n) + 0x04u)
#define DMA_AL1_CTRL(n) REGISTER(DMA_CHANNEL(n) + 0x10u)
#define DMA_AL1_TRANS_COUNT_TRIG(n) REGISTER(DMA_CHANNEL(n) + 0x1Cu)
#define DMA_CHAN_ABORT REGISTER(0x50000444u)
#define DMA_DBG_CTDREQ(n) REGISTER(DMA_CHANNEL(n) + 0x800u)
#define DMA_CTRL_EN (1u << 0)
#define DMA_CTRL_INCR_WRITE (1u << 5)
#define DMA_CTRL_WRITE_RING(log2) ((uint32_t)(log2) << 6 | 1u << 10)
#define DMA_CTRL_CHAIN_TO(n) ((n) << 11) /* itself: no other */
#define DMA_CTRL_REQUEST(n) ((n) << 15)
#define DMA_CTRL_BUSY (1u << 24)
#define DREQ_UART0_RX 21u

/* 2.14 Subsystem resets */
#define RESETS_RESET 0x4000C000u
#define RESETS_DONE REGISTER(0x4000C008u)
#define RESETS_ALL 0x1FFFFFFu
#define RESETS_DMA (1u << 2)
#define RESETS_IO_BANK0 (1u << 5)
#define RESETS_IO_QSPI (1u << 6)
#define RESETS_PADS_BANK0 (1u << 8)
#define RESETS_PADS_QSPI (1u << 9)
#define RESETS_PLL_SYS (1u << 12)
#define RESETS_TIMER (1u << 21)
#define RESETS_UART0 (1u << 22)

/* 2.15 Clocks */
#define CLK_REF_CTRL REGISTER(0x40008030u)
#define CLK_REF_DIV REGISTER(0x40008034u)
#define CLK_REF_SELECTED REGISTER(0x40008038u)
#define CLK_SYS_CTRL 0x4000803Cu
#define CLK_SYS_DIV REGISTER(0x40008040u)
#define CLK_SYS_SELECTED REGISTER(0x40008044u)
#define CLK_PERI_CTRL 0x40008048u
#define CLK_REF_XOSC 2u
#define CLK_SYS_FROM_REF 0u
#define CLK_SYS_FROM_PLL 1u /* the auxiliary source, whose reset value is pll_sys */
#define CLK_PERI_ENABLE (1u << 11)
#define CLK_UNDIVIDED (1u << 8)

/* 2.16 Crystal oscillator */
#define XOSC_CTRL REGISTER(0x40024000u)
#define XOSC_STATUS REGISTER(0x40024004u)
#define XOSC_STARTUP REGISTER(0x4002400Cu)
#define XOSC_1_TO_15_MHZ 0xAA0u
#define XOSC_ENABLE (0xFABu << 12)
#define XOSC_STABLE (1u << 31)

/* 2.18 PLL */
#define PLL_SYS_CS REGISTER(0x40028000u)
#define PLL_SYS_PWR 0x40028004u
#define PLL_SYS_FBDIV REGISTER(0x40028008u)
#define PLL_SYS_PRIM REGISTER(0x4002800Cu)
#define PLL_CS_LOCK (1u << 31)
#define PLL_PWR_PD (1u << 0)
#define PLL_PWR_POSTDIVPD (1u << 3)
#define PLL_PWR_VCOPD (1u << 5)

/* 4.7 Watchdog: its tick drives the timer */
#define WATCHDOG_CTRL 0x40058000u
#define WATCHDOG_ENABLE (1u << 30)
#define WATCHDOG_TICK REGISTER(0x4005802Cu)
#define WATCHDOG_TICK_ENABLE (1u << 9)

/* 4.6 Timer */
#define TIMER_ALARM(n) REGISTER(0x40054010u + 4u * (n))
#define TIMER_ARMED REGISTER(0x40054020u)
#define TIMER_TIMERAWL REGISTER(0x40054028u)
#define TIMER_INTR REGISTER(0x40054034u)
#define TIMER_INTE 0x40054038u
#define TIMER_IRQ(n) (n) /* of alarm n */
#define SLEEP_ALARM 0u
#define UART_ALARM 1u

/* 4.2 UART */
#define UART0_DR_ADDRESS 0x40034000u
#define UART0_DR REGISTER(UART0_DR_ADDRESS)
#define UART0_FR REGISTER(0x40034018u)
#define UART0_IBRD REGISTER(0x40034024u)
#define UART0_FBRD REGISTER(0x40034028u)
#define UART0_LCR_H REGISTER(0x4003402Cu)
#define UART0_CR REGISTER(0x40034030u)
#define UART0_IFLS REGISTER(0x40034034u)
#define UART0_IMSC REGISTER(0x40034038u)
#define UART0_MIS REGISTER(0x40034040u)
#define UART0_ICR REGISTER(0x40034044u)
#define UART0_DMACR REGISTER(0x40034048u)
#define UART_FR_RXFE (1u << 4)
#define UART_FR_TXFF (1u << 5)
#define UART_LCR_FIFOS (1u << 4)
#define UART_LCR_8_BITS (3u << 5)
#define UART_CR_ENABLE (1u << 0)
#define UART_CR_TX (1u << 8)
#define UART_CR_RX (1u << 9)
#define UART_IFLS_RX_HALF (2u << 3)
#define UART_IFLS_TX_EIGHTH 0u
#define UART_INT_RX (1u << 4)
#define UART_INT_TX (1u << 5)
#define UART_INT_RX_TIMEOUT (1u << 6)
#define UART_DMACR_RX (1u << 0)
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

/* 2.19 GPIO and 2.3.1 SIO */
#define GPIO_CTRL(pin) REGISTER(0x40014004u + 8u * (pin))
#define GPIO_FUNCTION_UART 2u
#define GPIO_FUNCTION_SIO 5u
#define PAD(pin) REGISTER(0x4001C004u + 4u * (pin))
#define PAD_4_MA_PULLED_UP_INPUT 0x5Au /* schmitt trigger, pull-up, 4 mA, input enabled */
#define SIO_OUT_SET REGISTER(0xD0000014u)
#define SIO_OUT_CLEAR REGISTER(0xD0000018u)
#define SIO_OE_SET REGISTER(0xD0000024u)
