/* The outputs of a plane in blocks, as many at once as have their sums on the stack. */
#ifndef TFLITE_PLANE_BLOCK_H
#define TFLITE_PLANE_BLOCK_H

#include <stdint.h>

enum { TFLITE_PLANE_SUMS = 64 }; /* of a block, at most */

/* A block of outputs: rows y..y+rows-1, columns x..x+columns-1; rows * columns is at most TFLITE_PLANE_SUMS. */
typedef struct {
    uint32_t y, x, rows, columns;
} plane_block_t;

/* The first block of an output of this size, and the one after `block`; without rows behind the last. Blocks of more than one row
   are as wide as the output, so that their sums are contiguous in it. */
plane_block_t tflite_first_block(uint32_t height, uint32_t width);
plane_block_t tflite_next_block(const plane_block_t *block, uint32_t height, uint32_t width);

#endif
