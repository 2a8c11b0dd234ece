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
#define PLL_STEP 0x4000u /* to that of USB */
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
#define RESETS_PLL_USB (1u << 13)
#define RESETS_SYSINFO (1u << 19)
#define RESETS_TIMER (1u << 21)
#define RESETS_UART0 (1u << 22)
#define RESETS_USBCTRL (1u << 24)

/* 2.20 System info */
#define SYSINFO_CHIP_ID REGISTER(0x40000000u)
#define SYSINFO_CHIP_ID_REVISION (0xFu << 28)

/* 2.15 Clocks */
#define CLK_UNDIVIDED (1u << 8)
#define CLK_USB_CTRL (CLOCKS_BASE + 0x54u)
#define CLK_USB_DIV REGISTER(CLOCKS_BASE + 0x58u)
#define CLK_USB_ENABLE (1u << 11) /* from its auxiliary source, whose reset value is pll_usb */

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
#define SSI_SR_RFNE (1u << 3)
#define SSI_DR0 REGISTER(0x18000060u)
#define SSI_SPI_CTRLR0 REGISTER(0x180000F4u)
#define SSI_SPI_CTRLR0_COMMAND_ON_ONE_LINE (1u << 0)
#define SSI_SPI_CTRLR0_ALL_ON_FOUR_LINES (2u << 0)
#define SSI_SPI_CTRLR0_24_BIT_ADDRESS (6u << 2)
#define SSI_SPI_CTRLR0_32_BIT_ADDRESS (8u << 2) /* with the mode bits */
#define SSI_SPI_CTRLR0_8_BIT_COMMAND (2u << 8)
#define SSI_SPI_CTRLR0_WAIT(cycles) ((cycles) << 11)
#define SSI_SPI_CTRLR0_COMMAND(command) ((uint32_t)(command) << 24)

/* 2.19 GPIO */
#define GPIO24_INTERRUPTS REGISTER(IO_BANK0_BASE + 0xFCu)          /* of GPIO24 to 29; a one written ends an edge's */
#define GPIO24_INTERRUPTS_ENABLED REGISTER(IO_BANK0_BASE + 0x10Cu) /* for core 0 */
#define GPIO24_EDGES (3u << 2)
#define GPIO_IRQ 13u

/* 2.3.1 SIO */
#define SIO_IN REGISTER(0xD0000004u)
#define SIO_OUT_SET REGISTER(0xD0000014u)
#define SIO_OUT_CLEAR REGISTER(0xD0000018u)
#define SIO_OE_SET REGISTER(0xD0000024u)

/* 4.1 USB: the RAM of the controller, with the SETUP packet, the words of the endpoints by their index, and buffers; no
   atomic aliases there. What is a flag in the status registers ends where a one is written. */
#define USB_RAM 0x50100000u
#define USB_EP_CONTROL(index) REGISTER(0x50100000u + 4u * (index)) /* from index 2 on */
#define USB_BUFFER_CONTROL(index) REGISTER(0x50100080u + 4u * (index))
#define USB_CONTROL_BUFFER 0x100u
#define USB_BUFFERS 0x180u
#define USB_EP_ENABLE (1u << 31)
#define USB_EP_INTERRUPT_PER_BUFFER (1u << 29)
#define USB_EP_BULK (2u << 26)
#define USB_EP_INTERRUPT (3u << 26)
#define USB_BUFFER_FULL (1u << 15)
#define USB_BUFFER_DATA1 (1u << 13)
#define USB_BUFFER_STALL (1u << 11)
#define USB_BUFFER_AVAILABLE (1u << 10)
#define USB_BUFFER_LENGTH 0x3FFu
#define USB_ADDR_ENDP REGISTER(0x50110000u)
#define USB_MAIN_CTRL REGISTER(0x50110040u)
#define USB_MAIN_CTRL_CONTROLLER_EN (1u << 0)
#define USB_SOF_RD REGISTER(0x50110048u)
#define USB_SIE_CTRL 0x5011004Cu
#define USB_SIE_CTRL_EP0_INT_1BUF (1u << 29)
#define USB_SIE_CTRL_PULLUP_EN (1u << 16)
#define USB_SIE_STATUS REGISTER(0x50110050u)
#define USB_SIE_STATUS_SUSPENDED (1u << 4)
#define USB_SIE_STATUS_SETUP_REC (1u << 17)
#define USB_SIE_STATUS_BUS_RESET (1u << 19)
#define USB_BUFF_STATUS REGISTER(0x50110058u)
#define USB_EP_ABORT 0x50110060u
#define USB_EP_ABORT_DONE REGISTER(0x50110064u)
#define USB_EP_STALL_ARM 0x50110068u
#define USB_MUXING REGISTER(0x50110074u)
#define USB_MUXING_TO_PHY (1u << 0)
#define USB_MUXING_SOFTCON (1u << 3)
#define USB_PWR REGISTER(0x50110078u)
#define USB_PWR_VBUS_DETECT (1u << 2)
#define USB_PWR_VBUS_DETECT_OVERRIDE_EN (1u << 3)
#define USB_INTE 0x50110090u
#define USB_INTS REGISTER(0x50110098u)
#define USB_INT_BUFF_STATUS (1u << 4)
#define USB_INT_BUS_RESET (1u << 12)
#define USB_INT_DEV_SUSPEND (1u << 14)
#define USB_INT_SETUP_REQ (1u << 16)
#define USB_INT_DEV_SOF (1u << 17)
#define USB_IRQ 5u
