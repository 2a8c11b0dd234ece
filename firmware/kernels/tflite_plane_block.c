#include "kernels/tflite_plane_s8.h"

static inline uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

plane_block_t tflite_first_block(uint32_t height, uint32_t width) {
    plane_block_t block = {.rows = 1, .columns = least(width, TFLITE_PLANE_SUMS)};
    if (block.columns == width) {
        block.rows = least(TFLITE_PLANE_SUMS / width, height);
    }
    return block;
}

plane_block_t tflite_next_block(const plane_block_t *block, uint32_t height, uint32_t width) {
    plane_block_t next = *block;
    next.x += block->columns;
    if (next.x >= width) {
        next.x = 0;
        next.y += block->rows;
        next.rows = least(block->rows, height - next.y);
    }
    next.columns = least(TFLITE_PLANE_SUMS, width - next.x);
    return next;
}
