/* UART0: one byte each way, an interrupt for every byte. */
#include "uart.h"

#include "mps2.h"
#include "serial.h"

enum { BAUD_DIVISOR = 27 }; /* 25 MHz / 27 = 925926 baud, 0.5 % from 921600; the least that the UART takes is 16 */

void uart_start(void) {
    UART0_BAUDDIV = BAUD_DIVISOR;
    UART0_CTRL = UART_CTRL_TX_ENABLE | UART_CTRL_RX_ENABLE | UART_CTRL_TX_INTERRUPT | UART_CTRL_RX_INTERRUPT;
    NVIC_ISER(UART0_RX_IRQ) = NVIC_BIT(UART0_RX_IRQ);
    NVIC_ISER(UART0_TX_IRQ) = NVIC_BIT(UART0_TX_IRQ);
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
    NVIC_ICPR(UART0_RX_IRQ) = NVIC_BIT(UART0_RX_IRQ) | NVIC_BIT(UART0_TX_IRQ);
}
