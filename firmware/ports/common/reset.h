/* The first instructions after reset, the same on every board. */
#pragma once

#include <stdint.h>

/* Initial stack pointer, from sections.ld. */
extern uint32_t __stack_top[];

/* Floating point on, stack painted, .data and .bss made, then main(). */
void reset_handler(void);
