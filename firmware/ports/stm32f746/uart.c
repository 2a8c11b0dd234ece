/* USART1 has no FIFO here: DMA2 takes what it receives into a ring and gives it what is to be sent (RM0385, DMA2
   request mapping: USART1_RX is channel 4 of stream 2, USART1_TX channel 4 of stream 7). Where no DMA answers, as on an
   emulator without one, every received byte interrupts, and the core writes what is to be sent. */
#include <stdbool.h>

#include "board.h"
#include "receive.h"
#include "serial.h"

#define RX_STREAM 2u
#define TX_STREAM 7u
#define CHANNEL DMA_CR_CHANNEL(4u)
#define TX_PIN 9u /* of port A */
#define RX_PIN 7u /* of port B */

enum {
    RX_RING = 1024, /* bytes; an interrupt at each half, every 5.5 ms at 921600 baud, and when the line falls silent */
    TX_SIZE = 1 << UART_SEND_LOG2,
};

/* In DTCM with all of .bss: no cache is between the DMA and the core. */
static volatile uint8_t ring[RX_RING];
static volatile uint8_t sending[TX_SIZE] __attribute__((section(".dma"))); /* at UART_SEND_BASE */
static bool by_dma;

/* Streams are off after reset, and only then may be set up (RM0385, DMA: stream configuration procedure). */
static void start_streams(void) {
    RCC_AHB1ENR |= RCC_AHB1ENR_DMA2EN;
    (void)RCC_AHB1ENR;
    DMA2_PAR(RX_STREAM) = USART1_RDR_ADDRESS;
    DMA2_M0AR(RX_STREAM) = (uint32_t)(uintptr_t)ring;
    DMA2_NDTR(RX_STREAM) = RX_RING;
    DMA2_CR(RX_STREAM) = CHANNEL | DMA_CR_MINC | DMA_CR_CIRC | DMA_CR_HTIE | DMA_CR_TCIE;
    DMA2_CR(RX_STREAM) |= DMA_CR_EN;
    by_dma = (DMA2_CR(RX_STREAM) & DMA_CR_EN) != 0;
    DMA2_PAR(TX_STREAM) = USART1_TDR_ADDRESS;
    DMA2_M0AR(TX_STREAM) = (uint32_t)(uintptr_t)sending;
    DMA2_CR(TX_STREAM) = CHANNEL | DMA_CR_MINC | DMA_CR_TO_PERIPHERAL | DMA_CR_TCIE;
}

void uart_start(uint32_t kernel_clock_hz) {
    start_pin(GPIOA, TX_PIN);
    start_pin(GPIOB, RX_PIN);
    start_streams();
    RCC_APB2ENR |= RCC_APB2ENR_USART1EN;
    (void)RCC_APB2ENR;
    USART1_BRR = (kernel_clock_hz + BOARD_BAUD / 2) / BOARD_BAUD;
    USART1_CR3 |= by_dma ? USART_CR3_DMAR | USART_CR3_DMAT : 0;
    USART1_CR1 |= USART_CR1_UE | USART_CR1_RE | USART_CR1_TE | (by_dma ? USART_CR1_IDLEIE : USART_CR1_RXNEIE);
    NVIC_ISER(USART1_IRQ) = NVIC_BIT(USART1_IRQ);
    NVIC_ISER(DMA2_STREAM_2_IRQ) = NVIC_BIT(DMA2_STREAM_2_IRQ);
    NVIC_ISER(DMA2_STREAM_7_IRQ) = NVIC_BIT(DMA2_STREAM_7_IRQ);
}

static void pump_by_core(void) {
    for (uint8_t byte; serial_next(&byte);) {
        uart_put_polled(byte);
    }
}

void uart_pump(void) {
    if (!by_dma) {
        pump_by_core();
        return;
    }
    if (!serial_pending() || (DMA2_CR(TX_STREAM) & DMA_CR_EN) != 0) {
        return; /* the stream's end interrupts and pumps again */
    }
    uint32_t n = 0;
    for (uint8_t byte; n < TX_SIZE && serial_next(&byte); n++) {
        sending[n] = byte;
    }
    DMA2_HIFCR = DMA_STREAM_7_FLAGS; /* a stream does not start while a flag of it is up (RM0385, DMA: SxCR, EN) */
    DMA2_NDTR(TX_STREAM) = n;
    barrier(); /* the bytes are in memory before the DMA reads them */
    DMA2_CR(TX_STREAM) |= DMA_CR_EN;
}

/* What was handed to the DMA goes out first. */
void uart_put_polled(uint8_t byte) {
    while ((DMA2_CR(TX_STREAM) & DMA_CR_EN) != 0) {
    }
    while ((USART1_ISR & USART_ISR_TXE) == 0) {
    }
    USART1_TDR = byte;
}

/* Flags before bytes: what arrives while the ring is emptied interrupts again. Line errors and overruns need no
   handling of their own, the frame's CRC finds them. Which of the three interrupted is not asked: an access to a
   peripheral costs a dozen cycles on the bus, and far more on an emulator. */
void uart_handler(void) {
    USART1_ICR = USART_ICR_EVENTS;
    DMA2_LIFCR = DMA_STREAM_2_FLAGS;
    DMA2_HIFCR = DMA_STREAM_7_FLAGS;
    if (by_dma) {
        take_ring(ring, RX_RING, DMA2_NDTR(RX_STREAM));
    } else {
        take_register();
    }
    uart_pump();
}

void uart_poll(void) {
    uart_handler();
    NVIC_ICPR(USART1_IRQ) = NVIC_BIT(USART1_IRQ) | NVIC_BIT(DMA2_STREAM_2_IRQ);
    NVIC_ICPR(DMA2_STREAM_7_IRQ) = NVIC_BIT(DMA2_STREAM_7_IRQ);
}
