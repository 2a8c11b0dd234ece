/* Registers that the MPS2 FPGA images AN385, AN386 and AN500 share (Arm DAI 0385, 0386 and 0500: memory map,
   interrupts), and of their UART, from the Cortex-M System Design Kit (ARM DDI 0479, APB UART). */
#pragma once

#include "cortex_m.h"

#define UART0_DATA REGISTER(0x40004000u)
#define UART0_STATE REGISTER(0x40004004u)
#define UART0_CTRL REGISTER(0x40004008u)
#define UART0_INTCLEAR REGISTER(0x4000400Cu)
#define UART0_BAUDDIV REGISTER(0x40004010u)
#define UART_STATE_TX_FULL (1u << 0)
#define UART_STATE_RX_FULL (1u << 1)
#define UART_CTRL_TX_ENABLE (1u << 0)
#define UART_CTRL_RX_ENABLE (1u << 1)
#define UART_CTRL_TX_INTERRUPT (1u << 2)
#define UART_CTRL_RX_INTERRUPT (1u << 3)
#define UART_INT_TX (1u << 0)
#define UART_INT_RX (1u << 1)
#define UART0_RX_IRQ 0u
#define UART0_TX_IRQ 1u

/* MPS2 FPGA system control: user LEDs */
#define FPGAIO_LED REGISTER(0x40028000u)
#define FPGAIO_LED0 (1u << 0)

#define SYSTEM_CLOCK_HZ 25000000u
