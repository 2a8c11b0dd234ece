/* UART0: one byte each way, an interrupt for every byte. */
#include "mps2.h"
#include "serial.h"

_Static_assert(BOARD_BAUD_DIVISOR >= 16u, "the least that the UART takes");

void uart_start(void) {
    UART0_BAUDDIV = BOARD_BAUD_DIVISOR;
    UART0_CTRL = UART_CTRL_TX_ENABLE | UART_CTRL_RX_ENABLE | UART_CTRL_TX_INTERRUPT | UART_CTRL_RX_INTERRUPT;
    NVIC_ISER(BOARD_UART0_RX_IRQ) = NVIC_BIT(BOARD_UART0_RX_IRQ);
    NVIC_ISER(BOARD_UART0_TX_IRQ) = NVIC_BIT(BOARD_UART0_TX_IRQ);
}

void uart_pump(void) {
    uint8_t byte;
    while ((UART0_STATE & UART_STATE_TX_FULL) == 0 && serial_next(&byte)) {
        UART0_DATA = byte;
    }
}

void uart_put_polled(uint8_t byte) {
    while ((UART0_STATE & UART_STATE_TX_FULL) != 0) {
    }
    UART0_DATA = byte;
}

void uart_receive_handler(void) {
    UART0_INTCLEAR = UART_INT_RX;
    while ((UART0_STATE & UART_STATE_RX_FULL) != 0) {
        serial_received((uint8_t)UART0_DATA);
    }
}

void uart_transmit_handler(void) {
    UART0_INTCLEAR = UART_INT_TX;
    uart_pump();
}

void uart_poll(void) {
    uart_receive_handler();
    uart_transmit_handler();
    NVIC_ICPR(BOARD_UART0_RX_IRQ) = NVIC_BIT(BOARD_UART0_RX_IRQ) | NVIC_BIT(BOARD_UART0_TX_IRQ);
}
