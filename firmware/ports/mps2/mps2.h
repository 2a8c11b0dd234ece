/* Registers that the MPS2 FPGA images share: of their UART, from the Cortex-M System Design Kit (ARM DDI 0479, APB UART),
   and of their LEDs. Where these are, and the clock, is in the board.h of each image. */
#pragma once

#include "board.h"
#include "cortex_m.h"

#define UART0_DATA REGISTER(BOARD_UART0 + 0x00u)
#define UART0_STATE REGISTER(BOARD_UART0 + 0x04u)
#define UART0_CTRL REGISTER(BOARD_UART0 + 0x08u)
#define UART0_INTCLEAR REGISTER(BOARD_UART0 + 0x0Cu)
#define UART0_BAUDDIV REGISTER(BOARD_UART0 + 0x10u)
#define UART_STATE_TX_FULL (1u << 0)
#define UART_STATE_RX_FULL (1u << 1)
#define UART_CTRL_TX_ENABLE (1u << 0)
#define UART_CTRL_RX_ENABLE (1u << 1)
#define UART_CTRL_TX_INTERRUPT (1u << 2)
#define UART_CTRL_RX_INTERRUPT (1u << 3)
#define UART_INT_TX (1u << 0)
#define UART_INT_RX (1u << 1)

/* MPS2 FPGA system control: user LEDs */
#define FPGAIO_LED REGISTER(BOARD_FPGAIO)
#define FPGAIO_LED0 (1u << 0)

/* UART0, 8 data bits, no parity, 1 stop bit. */
void uart_start(void);

void uart_receive_handler(void);
void uart_transmit_handler(void);
