/* The products of depthwise convolutions, forward and backward: a small plane slid over a larger one. */
#ifndef TFLITE_PLANE_SUMS_S8_H
#define TFLITE_PLANE_SUMS_S8_H

#include <stdint.h>

enum { TFLITE_PLANE_SUMS = 64 }; /* sums that are made at once, at most: few enough to lie on the stack */

typedef struct {
    uint32_t width; /* bytes from one row of the plane to the next */
    uint32_t kernel_h, kernel_w, stride;
} plane_window_t;

/* A block of outputs: rows y..y+rows-1, columns x..x+columns-1; rows * columns is at most TFLITE_PLANE_SUMS. */
typedef struct {
    uint32_t y, x, rows, columns;
} plane_block_t;

/* The first block of an output of this size, and the one after `block`; without rows behind the last. Blocks of more than one row
   are as wide as the output, so that their sums are contiguous in it. */
plane_block_t tflite_first_block(uint32_t height, uint32_t width);
plane_block_t tflite_next_block(const plane_block_t *block, uint32_t height, uint32_t width);

/* sums[i * columns + j] = the exact sum over ky, kx of plane[((y + i) * stride + ky) * width + (x + j) * stride + kx] times
   kernel[ky * kernel_w + kx]. Up to TFLITE_PLANE_SLACK bytes behind the plane are read. */
void tflite_plane_sums_s8(const int8_t *plane, const int8_t *kernel, const plane_window_t *window, const plane_block_t *block,
                          int32_t *sums);

#endif
