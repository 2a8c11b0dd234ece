/* What the linker laid out, and how far the stack has reached. Sizes in bytes; the symbols are in
   ports/common/sections.ld. */
#pragma once

#include <stdint.h>

typedef struct {
    uint8_t *base;
    uint32_t size;
} memory_range_t;

/* The program image as flashed: vectors, code, constants and the initial values of .data. */
memory_range_t memory_image(void);

/* All the memory that the image lies in. */
memory_range_t memory_flash(void);

/* XXH32 (seed 0) of the image, read from where it was flashed. */
uint32_t memory_image_digest(void);

/* Bytes of .data, .bss and .dma; the arena and the stack are not part of it. */
uint32_t memory_static(void);

memory_range_t memory_arena(void);

memory_range_t memory_stack(void);

/* Fill the unused part of the stack with the pattern that memory_stack_peak() looks for. Called first thing after
   reset. */
void memory_paint_stack(void);

/* The most bytes of stack ever in use since the painting: from the top down to the lowest changed word. */
uint32_t memory_stack_peak(void);
