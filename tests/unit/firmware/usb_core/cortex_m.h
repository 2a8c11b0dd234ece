/* The core under the USB drivers of harness_usb.c, in the place of firmware/ports/common/cortex_m.h. Interrupts are run
   by the harness; a pending one is noted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

static inline void modify(volatile uint32_t *reg, uint32_t mask, uint32_t value) {
    *reg = (*reg & ~mask) | value;
}

static inline bool wait_until(volatile uint32_t *reg, uint32_t mask, uint32_t value, uint32_t polls) {
    for (; polls > 0; polls--) {
        if ((*reg & mask) == value) {
            return true;
        }
    }
    return false;
}

extern uint32_t nvic_enabled, nvic_pending, nvic_ended;
#define NVIC_ISER(irq) nvic_enabled
#define NVIC_ISPR(irq) nvic_pending
#define NVIC_ICPR(irq) nvic_ended
#define NVIC_BIT(irq) (1u << ((irq) % 32u))

static inline void interrupts_mask(void) {
}

static inline void interrupts_unmask(void) {
}

static inline void wait_for_interrupt(void) {
}

static inline void barrier(void) {
}
