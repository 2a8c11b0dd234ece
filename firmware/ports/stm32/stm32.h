/* Registers that the STM32 of the boards have alike, by chapter and register of their manuals (RM0385, RM0455), and what
   their ports share. The header of the chip has GPIO_BASE and the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cortex_m.h"

/* General-purpose I/Os, GPIO registers; port A is index 0 */
enum { GPIOA = 0, GPIOB = 1, GPIOF = 5, GPIOI = 8 };
#define GPIO_REGISTER(port, offset) REGISTER(GPIO_BASE + 0x400u * (port) + (offset))
#define GPIO_MODER(port) GPIO_REGISTER(port, 0x00u)
#define GPIO_PUPDR(port) GPIO_REGISTER(port, 0x0Cu)
#define GPIO_BSRR(port) GPIO_REGISTER(port, 0x18u)
#define GPIO_AFR(port, pin) GPIO_REGISTER(port, 0x20u + 4u * ((pin) / 8u))
enum { GPIO_MODE_OUTPUT = 1, GPIO_MODE_ALTERNATE = 2, GPIO_PULL_UP = 1 };

/* Direct memory access controller, DMA_SxCR */
#define DMA_CR_EN (1u << 0)
#define DMA_CR_HTIE (1u << 3)
#define DMA_CR_TCIE (1u << 4)
#define DMA_CR_CIRC (1u << 8)
#define DMA_CR_MINC (1u << 10)

/* Universal synchronous/asynchronous receiver transmitter, USART registers; interrupt 37 (NVIC, vector table) */
#define USART1_IRQ 37u
#define USART1_CR1 REGISTER(0x40011000u)
#define USART_CR1_UE (1u << 0)
#define USART_CR1_RE (1u << 2)
#define USART_CR1_TE (1u << 3)
#define USART_CR1_IDLEIE (1u << 4)
#define USART_CR1_RXNEIE (1u << 5) /* with a FIFO, RXFNEIE */
#define USART1_CR3 REGISTER(0x40011008u)
#define USART_CR3_DMAR (1u << 6)
#define USART1_BRR REGISTER(0x4001100Cu)
#define USART1_ISR REGISTER(0x4001101Cu)
#define USART_ISR_RXNE (1u << 5) /* with a FIFO, RXFNE and TXFNF */
#define USART_ISR_TXE (1u << 7)
#define USART1_ICR REGISTER(0x40011020u)
#define USART_ICR_EVENTS (0x1Fu << 0) /* IDLE, ORE, NE, FE, PE */
#define USART1_RDR_ADDRESS 0x40011024u
#define USART1_RDR REGISTER(USART1_RDR_ADDRESS)
#define USART1_TDR_ADDRESS 0x40011028u
#define USART1_TDR REGISTER(USART1_TDR_ADDRESS)

/* Frequencies in Hz as the clock tree stands. */
typedef struct {
    uint32_t core;
    uint32_t apb2;
} clock_rates_t;

/* Voltage, crystal and PLL for the core's highest frequency. Where a ready flag does not come, the chip stays on HSI
   and the rates say so. Called before any clock of a peripheral is enabled. */
clock_rates_t clock_start(void);

/* Everything the program uses, and nothing else: any other address faults. */
void regions_protect(void);

/* USART1, the virtual COM port of the on-board ST-LINK; 8 data bits, no parity, 1 stop bit. */
void uart_start(uint32_t kernel_clock_hz);

/* The handler of USART1 and of its DMA streams. */
void uart_handler(void);
