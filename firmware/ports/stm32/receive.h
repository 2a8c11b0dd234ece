/* USART1's pins, and what it receives: from the ring that the DMA fills or, where no DMA answers, from the register. */
#pragma once

#include "board.h"
#include "serial.h"

#define USART1_AF 7u /* DS10916, alternate function mapping; DS13139, alternate functions: ports A and B */

static inline void start_pin(uint32_t port, uint32_t pin) {
    RCC_GPIO_ENR |= 1u << port;
    (void)RCC_GPIO_ENR; /* two cycles until the clock runs (RM0385, RM0455, RCC: peripheral clock enable) */
    modify(&GPIO_AFR(port, pin), 0xFu << 4 * (pin % 8), USART1_AF << 4 * (pin % 8));
    modify(&GPIO_PUPDR(port), 3u << 2 * pin, GPIO_PULL_UP << 2 * pin);
    modify(&GPIO_MODER(port), 3u << 2 * pin, GPIO_MODE_ALTERNATE << 2 * pin);
}

static uint32_t taken; /* place in the ring of the next byte to take */

/* `left` bytes of the ring are still to be filled in this round. */
static inline void take_ring(const volatile uint8_t *ring, uint32_t size, uint32_t left) {
    const uint32_t place = (size - left) % size;
    for (; taken != place; taken = (taken + 1) % size) {
        serial_received(ring[taken]);
    }
}

static inline bool may_receive(void) {
    static bool silenced;
    const bool more = serial_wants_more();
    if (silenced == more) {
        silenced = !more;
        modify(&USART1_CR1, USART_CR1_RXNEIE, more ? USART_CR1_RXNEIE : 0);
    }
    return more;
}

static inline void take_register(void) {
    while (may_receive() && (USART1_ISR & USART_ISR_RXNE) != 0) {
        serial_received((uint8_t)USART1_RDR);
    }
}
