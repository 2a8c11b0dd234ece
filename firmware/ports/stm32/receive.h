/* What USART1 receives: from the ring that the DMA fills or, where no DMA answers, from the register. */
#pragma once

#include "serial.h"
#include "stm32.h"

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
