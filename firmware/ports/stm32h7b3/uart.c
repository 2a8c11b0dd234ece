/* DMA1 takes what USART1 receives into a ring; what is sent goes through the FIFO (RM0455, DMAMUX1: input 41 is
   USART1_RX). Where no DMA answers, as on an emulator without one, every received byte interrupts. */
#include <stdbool.h>

#include "board.h"
#include "receive.h"
#include "serial.h"

#define RX_STREAM 0u

enum {
    TX_PIN = 9,
    RX_PIN = 10,
    RX_RING = 2048, /* bytes; an interrupt at each half, every 11 ms at 921600 baud, and when the line falls silent */
};

/* No initial values, and not cleared at start: only what the DMA wrote is read. */
static volatile uint8_t ring[RX_RING] __attribute__((section(".dma")));
static bool by_dma;

/* Streams are off after reset, and only then may be set up (RM0455, DMA: stream configuration procedure). TRBUFF:
   without it a stream that serves a USART may be locked (ES0478, errata of STM32H7A3/7B3, DMA; unverified). */
static void start_stream(void) {
    RCC_AHB2ENR |= RCC_AHB2ENR_AHBSRAM1EN;
    RCC_AHB1ENR |= RCC_AHB1ENR_DMA1EN;
    (void)RCC_AHB1ENR;
    DMAMUX1_CCR(RX_STREAM) = DMAMUX1_USART1_RX;
    DMA1_PAR(RX_STREAM) = USART1_RDR_ADDRESS;
    DMA1_M0AR(RX_STREAM) = (uint32_t)(uintptr_t)ring;
    DMA1_NDTR(RX_STREAM) = RX_RING;
    DMA1_CR(RX_STREAM) = DMA_CR_TRBUFF | DMA_CR_MINC | DMA_CR_CIRC | DMA_CR_HTIE | DMA_CR_TCIE;
    DMA1_CR(RX_STREAM) |= DMA_CR_EN;
    by_dma = (DMA1_CR(RX_STREAM) & DMA_CR_EN) != 0;
}

void uart_start(uint32_t kernel_clock_hz) {
    start_pin(GPIOA, TX_PIN);
    start_pin(GPIOA, RX_PIN);
    start_stream();
    RCC_APB2ENR |= RCC_APB2ENR_USART1EN;
    (void)RCC_APB2ENR;
    USART1_BRR = (kernel_clock_hz + BOARD_BAUD / 2) / BOARD_BAUD;
    modify(&USART1_CR3, USART_CR3_TXFTCFG_MASK | USART_CR3_DMAR, USART_CR3_TXFTCFG_7_8 | (by_dma ? USART_CR3_DMAR : 0));
    USART1_CR1 |= USART_CR1_FIFOEN;
    USART1_CR1 |= USART_CR1_UE | USART_CR1_RE | USART_CR1_TE | (by_dma ? USART_CR1_IDLEIE : USART_CR1_RXNEIE);
    NVIC_ISER(USART1_IRQ) = NVIC_BIT(USART1_IRQ);
    NVIC_ISER(DMA1_STREAM_0_IRQ) = NVIC_BIT(DMA1_STREAM_0_IRQ);
}

void uart_pump(void) {
    static bool interrupting; /* TXFTIE as last written */
    uint8_t byte;
    while (serial_pending() && (USART1_ISR & USART_ISR_TXE) != 0 && serial_next(&byte)) {
        USART1_TDR = byte;
    }
    if (interrupting != serial_pending()) {
        interrupting = serial_pending();
        modify(&USART1_CR3, USART_CR3_TXFTIE, interrupting ? USART_CR3_TXFTIE : 0);
    }
}

void uart_put_polled(uint8_t byte) {
    while ((USART1_ISR & USART_ISR_TXE) == 0) {
    }
    USART1_TDR = byte;
}

/* Flags before bytes: what arrives while the ring is emptied interrupts again. Line errors and overruns need no
   handling of their own, the frame's CRC finds them. Which of the two interrupted is not asked: an access to a
   peripheral costs a dozen cycles on the bus, and far more on an emulator. */
void uart_handler(void) {
    USART1_ICR = USART_ICR_EVENTS;
    DMA1_LIFCR = DMA_STREAM_0_FLAGS;
    if (by_dma) {
        take_ring(ring, RX_RING, DMA1_NDTR(RX_STREAM));
    } else {
        take_register();
    }
    uart_pump();
}

void uart_poll(void) {
    uart_handler();
    NVIC_ICPR(USART1_IRQ) = NVIC_BIT(USART1_IRQ);
    NVIC_ICPR(DMA1_STREAM_0_IRQ) = NVIC_BIT(DMA1_STREAM_0_IRQ);
}
