#include "uart.h"

#include <stdbool.h>

#include "board.h"
#include "serial.h"
#include "stm32h7b3.h"

enum {
    TX_PIN = 9,
    RX_PIN = 10,
    USART1_AF = 7,     /* DS13139, port A alternate functions */
    RX_THRESHOLD = 12, /* bytes; RXFTCFG says the same: 3/4 of the FIFO */
    SILENCE_BITS = 25, /* two and a half characters without a start bit: take what the FIFO holds */
};

/* The RX FIFO interrupts at 12 of its 16 bytes or when the line falls silent; 4 bytes of room are 43 us at 921600 baud. */
void uart_start(uint32_t kernel_clock_hz) {
    RCC_AHB4ENR |= RCC_AHB4ENR_GPIO(GPIOA);
    RCC_APB2ENR |= RCC_APB2ENR_USART1EN;
    (void)RCC_APB2ENR; /* two cycles until the clock runs (RM0455, RCC: peripheral clock enable delay) */
    modify(&GPIO_AFRH(GPIOA), 0xFu << 4 * (TX_PIN - 8) | 0xFu << 4 * (RX_PIN - 8),
           USART1_AF << 4 * (TX_PIN - 8) | USART1_AF << 4 * (RX_PIN - 8));
    modify(&GPIO_PUPDR(GPIOA), 3u << 2 * RX_PIN, GPIO_PULL_UP << 2 * RX_PIN);
    modify(&GPIO_MODER(GPIOA), 3u << 2 * TX_PIN | 3u << 2 * RX_PIN,
           GPIO_MODE_ALTERNATE << 2 * TX_PIN | GPIO_MODE_ALTERNATE << 2 * RX_PIN);

    USART1_BRR = (kernel_clock_hz + BOARD_BAUD / 2) / BOARD_BAUD;
    modify(&USART1_RTOR, USART_RTOR_RTO_MASK, SILENCE_BITS);
    modify(&USART1_CR2, USART_CR2_RTOEN, USART_CR2_RTOEN);
    modify(&USART1_CR3, USART_CR3_RXFTCFG_MASK | USART_CR3_TXFTCFG_MASK,
           USART_CR3_RXFTCFG_3_4 | USART_CR3_TXFTCFG_7_8 | USART_CR3_RXFTIE);
    USART1_CR1 |= USART_CR1_FIFOEN;
    USART1_CR1 |= USART_CR1_UE | USART_CR1_RE | USART_CR1_TE | USART_CR1_RTOIE;
    NVIC_ISER(USART1_IRQ) = NVIC_BIT(USART1_IRQ);
}

void uart_pump(void) {
    static bool interrupting; /* TXFTIE as last written */
    uint8_t byte;
    while (serial_pending() && (USART1_ISR & USART_ISR_TXFNF) != 0 && serial_next(&byte)) {
        USART1_TDR = byte;
    }
    if (interrupting != serial_pending()) {
        interrupting = serial_pending();
        modify(&USART1_CR3, USART_CR3_TXFTIE, interrupting ? USART_CR3_TXFTIE : 0);
    }
}

void uart_put_polled(uint8_t byte) {
    while ((USART1_ISR & USART_ISR_TXFNF) == 0) {
    }
    USART1_TDR = byte;
}

/* Peripheral accesses are few here: each costs a dozen cycles on the bus, and far more on an emulator. */
void usart1_handler(void) {
    const uint32_t status = USART1_ISR;
    /* Flags before bytes: what arrives while the FIFO is emptied starts a new silence. Line errors and overruns need no
       handling of their own, the frame's CRC finds them. */
    if ((status & USART_ISR_EVENTS) != 0) {
        USART1_ICR = status & USART_ISR_EVENTS;
    }
    if ((status & USART_ISR_RXFT) != 0) {
        for (int i = 0; i < RX_THRESHOLD; i++) {
            serial_received((uint8_t)USART1_RDR);
        }
    }
    while ((USART1_ISR & USART_ISR_RXFNE) != 0) {
        serial_received((uint8_t)USART1_RDR);
    }
    uart_pump();
}

void uart_poll(void) {
    usart1_handler();
    NVIC_ICPR(USART1_IRQ) = NVIC_BIT(USART1_IRQ);
}
