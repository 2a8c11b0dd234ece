/* The products of depthwise convolutions, forward and backward: a small plane slid over a larger one. */
#ifndef TFLITE_PLANE_SUMS_S8_H
#define TFLITE_PLANE_SUMS_S8_H

#include <stdint.h>

#include "kernels/tflite_plane_block.h"

typedef struct {
    uint32_t width; /* bytes from one row of the plane to the next */
    uint32_t kernel_h, kernel_w, stride;
} plane_window_t;

/* sums[i * columns + j] = the exact sum over ky, kx of plane[((y + i) * stride + ky) * width + (x + j) * stride + kx] times
   kernel[ky * kernel_w + kx]. Up to TFLITE_PLANE_SLACK bytes behind the plane are read, and as many behind the kernel. */
void tflite_plane_sums_s8(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                          const plane_block_t *block, int32_t *sums);

#endif
