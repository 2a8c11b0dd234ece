/* What the MPS2 FPGA images AN385, AN386 and AN500 share (Arm DAI 0385, 0386 and 0500: memory map, interrupts, clocks). */
#pragma once

#define BOARD_CODE 0x00000000u
#define BOARD_DATA 0x20000000u
#define BOARD_PERIPHERALS 0x40000000u
#define BOARD_PERIPHERALS_LOG2 29u
#define BOARD_UART0 0x40004000u
#define BOARD_FPGAIO 0x40028000u
#define BOARD_UART0_RX_IRQ 0u
#define BOARD_UART0_TX_IRQ 1u
#define BOARD_IRQS 32u
#define BOARD_CLOCK_HZ 25000000u
#define BOARD_BAUD_DIVISOR 27u /* 925926 baud, 0.5 % from 921600 */
