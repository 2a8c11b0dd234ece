#include "agent/memory.h"

#include "arith/xxh32.h"

#define STACK_PATTERN 0xC5C5C5C5u

/* Addresses only: what these objects hold is never read through these names. */
extern uint8_t __image_start[], __image_end[];
extern uint8_t __static_start[], __static_end[];
extern uint8_t __dma_start[], __dma_end[];
extern uint8_t __flash_start[], __flash_end[];
extern uint8_t __arena_start[], __arena_end[];
extern uint32_t __stack_bottom[], __stack_top[];

static memory_range_t range(uint8_t *start, const uint8_t *end) {
    return (memory_range_t){.base = start, .size = (uint32_t)((uintptr_t)end - (uintptr_t)start)};
}

memory_range_t memory_image(void) {
    return range(__image_start, __image_end);
}

memory_range_t memory_flash(void) {
    return range(__flash_start, __flash_end);
}

uint32_t memory_image_digest(void) {
    const memory_range_t image = memory_image();
    return xxh32(image.base, image.size, 0);
}

uint32_t memory_static(void) {
    return range(__static_start, __static_end).size + range(__dma_start, __dma_end).size;
}

memory_range_t memory_arena(void) {
    return range(__arena_start, __arena_end);
}

memory_range_t memory_stack(void) {
    return range((uint8_t *)__stack_bottom, (const uint8_t *)__stack_top);
}

void memory_paint_stack(void) {
    /* Everything below the stack pointer is free. Volatile: a call of memset would need stack of its own. */
    uint32_t *stack_pointer;
    __asm volatile("mov %0, sp" : "=r"(stack_pointer));
    for (volatile uint32_t *word = __stack_bottom; word < stack_pointer; word++) {
        *word = STACK_PATTERN;
    }
}

uint32_t memory_stack_peak(void) {
    const volatile uint32_t *word = __stack_bottom;
    while (word < __stack_top && *word == STACK_PATTERN) {
        word++;
    }
    return (uint32_t)((uintptr_t)__stack_top - (uintptr_t)word);
}
