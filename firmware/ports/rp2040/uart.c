#include "uart.h"

#include <stdint.h>

#include "board.h"
#include "clock.h"
#include "rp2040.h"
#include "serial.h"

enum { RX_THRESHOLD = 16 }; /* bytes; UART_IFLS_RX_HALF says the same */

/* The divider in 64ths (RP2040 data sheet, 4.2.7.1). */
#define DIVIDER ((CLOCK_HZ * 4u + BOARD_BAUD / 2u) / BOARD_BAUD)

/* The receiver interrupts at 16 of its 32 bytes or when the line falls silent for 32 bits; 16 bytes of room are 174 us. */
void uart_start(void) {
    PAD(BOARD_RX_PIN) = PAD_4_MA_PULLED_UP_INPUT;
    GPIO_CTRL(BOARD_TX_PIN) = GPIO_FUNCTION_UART;
    GPIO_CTRL(BOARD_RX_PIN) = GPIO_FUNCTION_UART;
    UART0_IBRD = DIVIDER / 64u;
    UART0_FBRD = DIVIDER % 64u;
    UART0_LCR_H = UART_LCR_8_BITS | UART_LCR_FIFOS; /* behind the divider, which it makes take effect */
    UART0_IFLS = UART_IFLS_RX_HALF | UART_IFLS_TX_EIGHTH;
    UART0_IMSC = UART_INT_RX | UART_INT_RX_TIMEOUT | UART_INT_TX;
    UART0_CR = UART_CR_ENABLE | UART_CR_TX | UART_CR_RX;
    NVIC_ISER(UART0_IRQ) = NVIC_BIT(UART0_IRQ);
}

/* While bytes are queued the FIFO is full, so that it falls through its threshold and interrupts. */
void uart_pump(void) {
    uint8_t byte;
    while (serial_pending() && (UART0_FR & UART_FR_TXFF) == 0 && serial_next(&byte)) {
        UART0_DR = byte;
    }
}

void uart_put_polled(uint8_t byte) {
    while ((UART0_FR & UART_FR_TXFF) != 0) {
    }
    UART0_DR = byte;
}

void uart0_handler(void) {
    const uint32_t status = UART0_MIS;
    UART0_ICR = status; /* before the bytes: what arrives meanwhile interrupts again */
    if ((status & UART_INT_RX) != 0) { /* so many are there; asking for each would double the accesses */
        for (int i = 0; i < RX_THRESHOLD; i++) {
            serial_received((uint8_t)UART0_DR);
        }
    }
    while ((UART0_FR & UART_FR_RXFE) == 0) {
        serial_received((uint8_t)UART0_DR);
    }
    uart_pump();
}

void uart_poll(void) {
    uart0_handler();
    NVIC_ICPR(UART0_IRQ) = NVIC_BIT(UART0_IRQ);
}
