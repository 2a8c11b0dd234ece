/* Registers that RP2040 and RP2350 have alike, by chapter of their data sheets, and what their ports share. The header
   of the chip has the bases of the blocks and the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cortex_m.h"

/* Atomic register access: writes to an alias set or clear bits. */
#define ATOMIC_SET(address) REGISTER((address) + 0x2000u)
#define ATOMIC_CLEAR(address) REGISTER((address) + 0x3000u)

/* DMA; a channel's last word of each four starts it */
#define DMA_CHANNEL(n) (DMA_BASE + 0x40u * (n))
#define DMA_READ_ADDR(n) REGISTER(DMA_CHANNEL(n) + 0x00u)
#define DMA_WRITE_ADDR(n) REGISTER(DMA_CHANNEL(n) + 0x04u)
#define DMA_AL1_CTRL(n) REGISTER(DMA_CHANNEL(n) + 0x10u)
#define DMA_AL1_TRANS_COUNT_TRIG(n) REGISTER(DMA_CHANNEL(n) + 0x1Cu)
#define DMA_DBG_CTDREQ(n) REGISTER(DMA_CHANNEL(n) + 0x800u)
#define DMA_CTRL_EN (1u << 0)

/* Subsystem resets */
#define RESETS_RESET (RESETS_BASE + 0x0u)
#define RESETS_DONE REGISTER(RESETS_BASE + 0x8u)
#define RESETS_DMA (1u << 2)

/* Clocks */
#define CLK_REF_CTRL REGISTER(CLOCKS_BASE + 0x30u)
#define CLK_REF_DIV REGISTER(CLOCKS_BASE + 0x34u)
#define CLK_REF_SELECTED REGISTER(CLOCKS_BASE + 0x38u)
#define CLK_SYS_CTRL (CLOCKS_BASE + 0x3Cu)
#define CLK_SYS_DIV REGISTER(CLOCKS_BASE + 0x40u)
#define CLK_SYS_SELECTED REGISTER(CLOCKS_BASE + 0x44u)
#define CLK_PERI_CTRL (CLOCKS_BASE + 0x48u)
#define CLK_REF_XOSC 2u
#define CLK_SYS_FROM_REF 0u /* with the PLL of the system as the auxiliary source */
#define CLK_SYS_FROM_PLL 1u
#define CLK_PERI_ENABLE (1u << 11)

/* Crystal oscillator (XOSC) */
#define XOSC_CTRL REGISTER(XOSC_BASE + 0x0u)
#define XOSC_STATUS REGISTER(XOSC_BASE + 0x4u)
#define XOSC_STARTUP REGISTER(XOSC_BASE + 0xCu)
#define XOSC_1_TO_15_MHZ 0xAA0u
#define XOSC_ENABLE (0xFABu << 12)
#define XOSC_STABLE (1u << 31)

/* PLL */
#define PLL_SYS 0u
#define PLL_USB 1u
#define PLL_BASE(pll) (PLL_SYS_BASE + PLL_STEP * (pll))
#define PLL_CS(pll) REGISTER(PLL_BASE(pll) + 0x0u)
#define PLL_PWR(pll) (PLL_BASE(pll) + 0x4u)
#define PLL_FBDIV(pll) REGISTER(PLL_BASE(pll) + 0x8u)
#define PLL_PRIM(pll) REGISTER(PLL_BASE(pll) + 0xCu)
#define PLL_CS_LOCK (1u << 31)
#define PLL_PWR_PD (1u << 0)
#define PLL_PWR_POSTDIVPD (1u << 3)
#define PLL_PWR_VCOPD (1u << 5)

/* Watchdog */
#define WATCHDOG_CTRL (WATCHDOG_BASE + 0x0u)
#define WATCHDOG_ENABLE (1u << 30)

/* Timer; of RP2350, TIMER0 */
#define TIMER_ALARM(n) REGISTER(TIMER_BASE + 0x10u + 4u * (n))
#define TIMER_ARMED REGISTER(TIMER_BASE + 0x20u)
#define TIMER_TIMERAWL REGISTER(TIMER_BASE + 0x28u)
#define TIMER_IRQ(n) (n) /* of alarm n */
#define SLEEP_ALARM 0u
#define UART_ALARM 1u

/* UART */
#define UART0_DR_ADDRESS (UART0_BASE + 0x00u)
#define UART0_DR REGISTER(UART0_DR_ADDRESS)
#define UART0_FR REGISTER(UART0_BASE + 0x18u)
#define UART0_IBRD REGISTER(UART0_BASE + 0x24u)
#define UART0_FBRD REGISTER(UART0_BASE + 0x28u)
#define UART0_LCR_H REGISTER(UART0_BASE + 0x2Cu)
#define UART0_CR REGISTER(UART0_BASE + 0x30u)
#define UART0_IFLS REGISTER(UART0_BASE + 0x34u)
#define UART0_IMSC REGISTER(UART0_BASE + 0x38u)
#define UART0_MIS REGISTER(UART0_BASE + 0x40u)
#define UART0_ICR REGISTER(UART0_BASE + 0x44u)
#define UART0_DMACR REGISTER(UART0_BASE + 0x48u)
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

/* GPIO. A pad of RP2350 is isolated after reset, until bit 8 (ISO) of its register is written as 0. */
#define GPIO_CTRL(pin) REGISTER(IO_BANK0_BASE + 4u + 8u * (pin))
#define GPIO_FUNCTION_UART 2u
#define GPIO_FUNCTION_SIO 5u
#define PAD(pin) REGISTER(PADS_BANK0_BASE + 4u + 4u * (pin))
#define PAD_4_MA_PULLED_UP_INPUT 0x5Au    /* schmitt trigger, pull-up, 4 mA, input enabled */
#define PAD_4_MA_PULLED_DOWN_OUTPUT 0x56u /* schmitt trigger, pull-down, 4 mA, input enabled */

/* UART0, 8 data bits, no parity, 1 stop bit. */
void uart_start(void);

/* The handler of UART0 and of the alarm that ends its silence. */
void uart_handler(void);

/* The handler of the alarm that ends a sleep of known length. */
void alarm_handler(void);

/* Core and peripherals at CLOCK_HZ from the crystal, and a tick of 1 MHz for the timer. */
void clock_start(void);

/* An earlier program's DMA, PIO, USB, ... run on through a debugger's reset: all into reset, as after power on, and out
   of it only what is used. */
void blocks_restart(void);

/* The pin is that of the function, with this value in the register of its pad. */
void pin_start(uint32_t pin, uint32_t function, uint32_t pad);

/* The marker is an output and low. */
void marker_start(void);

/* What the port of the chip has for them. */

/* A tick each microsecond for the timer, from the crystal. */
void tick_start(void);

/* A function of the boot ROM by the two letters that its table has for it; NULL where the ROM has none. */
void *rom_function(char first, char second);

/* Before functions of the boot ROM that work on the flash, and after them; interrupts are masked. */
void guard_off(void);
void guard_on(void);
