/* Constants of Arm's MPS2+ with the image AN505 (a Cortex-M33 in an IoT Kit), as QEMU's machine mps2-an505 models it
   (Arm DAI 0505: memory map, interrupts, clocks). The core starts Secure and stays so: every address is a Secure alias,
   which is the Non-secure one with bit 28 set (IDAU). Peripherals and SRAM are Secure after a reset, behind the
   protection controllers (PPC, MPC; ARM ECM 0601256). */
#pragma once

#define BOARD_NAME "mps2-an505"
#define BOARD_RX_RING 8192u

#define BOARD_CODE 0x10000000u /* Secure aliases */
#define BOARD_DATA 0x38000000u
#define BOARD_PERIPHERALS 0x50000000u
#define BOARD_PERIPHERALS_LOG2 28u
#define BOARD_UART0 0x50200000u
#define BOARD_FPGAIO 0x50302000u
#define BOARD_UART0_RX_IRQ 32u
#define BOARD_UART0_TX_IRQ 33u
#define BOARD_IRQS 124u
#define BOARD_CLOCK_HZ 20000000u
#define BOARD_BAUD_DIVISOR 20u /* 1 Mbaud; 921600 would be 1.4 % off */
