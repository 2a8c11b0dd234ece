/* The vector table [B1.5.3]. Only the file that has it includes this. */
#pragma once

#include "agent/fault.h"
#include "cortex_m.h"
#include "reset.h"

/* Places in the table after the stack pointer; INTERRUPT is that of the chip's first. */
enum { RESET = 0, SYSTICK = 14, INTERRUPT = 15 };

/* The table of a chip with so many interrupts, and [PLACE] = handler of those that are expected. Any other reports
   itself as a fault. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define VECTORS(interrupts, ...)                                                                                       \
    __attribute__((section(".vectors"), used)) static const struct {                                                   \
        uint32_t *stack;                                                                                               \
        vector_t handlers[INTERRUPT + (interrupts)];                                                                   \
    } vectors = {__stack_top,                                                                                          \
                 {[0 ... INTERRUPT + (interrupts) - 1] = fault_handler, [RESET] = reset_handler, __VA_ARGS__}}
