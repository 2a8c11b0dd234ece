/* Depthwise convolutions work on one channel at a time, as a padded plane: docs/arithmetic-tflite.md, section 3.
   Private to the kernels of depthwise. A plane may take every step-th position of the tensor, which turns the backward
   passes of strided convolutions into convolutions of stride 1. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/affine8.h"
#include "kernels/convolution.h"

/* An axis of a plane: element i is position start + i * step of an image of `size`, or padding where
   that is outside. */
typedef struct {
    int32_t start;
    uint32_t step, length, size;
    uint32_t first, inside; /* elements in the image, from `first` on */
} plane_axis_t;

/* Positions under all windows of so many outputs. */
static inline uint32_t tflite_plane_under(uint32_t outputs, uint32_t stride, uint32_t kernel) {
    return (outputs - 1) * stride + kernel;
}

plane_axis_t tflite_plane_axis(int32_t start, uint32_t step, uint32_t length, uint32_t size);

/* Make every element, and the slack, padding of this value. */
void tflite_plane_fill(const plane_axis_t *vertical, const plane_axis_t *horizontal, int8_t value, int8_t *plane);

/* Copy what is in the image of one channel, `in` being at its first value; the padding stays as it is. */
void tflite_plane_take(const int8_t *in, uint32_t channels, const plane_axis_t *vertical,
                       const plane_axis_t *horizontal, int8_t *plane);

/* The outputs of a plane are computed in blocks: as many as have their sums on the stack. */
enum { TFLITE_PLANE_SUMS = 64 }; /* of a block, at most */

/* A block of outputs: rows y..y+rows-1, columns x..x+columns-1; rows * columns is at most TFLITE_PLANE_SUMS. */
typedef struct {
    uint32_t y, x, rows, columns;
} plane_block_t;

/* The first block of an output of this size, and the one after `block`; without rows after the last. Blocks of more
   than one row are as wide as the output, so that their sums are contiguous in it. */
plane_block_t tflite_first_block(uint32_t height, uint32_t width);
plane_block_t tflite_next_block(const plane_block_t *block, uint32_t height, uint32_t width);

/* The products, forward and backward: a small plane (the kernel) moved over a larger one. */
typedef struct {
    uint32_t width; /* bytes from one row of the plane to the next */
    uint32_t kernel_h, kernel_w, stride_h, stride_w;
    int8_t zero; /* what is taken from the kernel */
} plane_window_t;

/* sums[i * columns + j] = the exact sum over ky, kx of plane[((y + i) * stride_h + ky) * width + (x + j) * stride_w +
   kx] times kernel[ky * kernel_w + kx] - zero. Up to TFLITE_SLACK bytes after the plane are read, and as many after the
   kernel. */
void tflite_plane_sums_s8(const int8_t *plane, const int8_t *kernel, const plane_window_t *window,
                          const plane_block_t *block, int32_t *sums);

/* depthwise_planes_s8.c: depthwise of the formats tflite8 and affine8. In tflite8 the zero points of weights and errors
   are 0, and no list of channels is kept. */

/* Forward pass. */
void depthwise_planes_s8(const int8_t *in, const int8_t *weights, int8_t weight_zero, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

/* Error of the input; `kept` NULL: all channels are. */
void depthwise_planes_input_error_s8(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                     const layer_shape_t *shape, int8_t *scratch, int32_t *acc);

/* Weight gradient, gradient[ky][kx][i] of the i-th channel that is kept; `kept` NULL: all are. */
void depthwise_planes_weight_gradient_s8(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                         int8_t input_zero, int8_t *scratch, int32_t *gradient);

/* The i-th channel that is kept; its errors lie among those of all channels. */
static inline uint32_t depthwise_channel(const affine8_errors_t *errors, uint32_t i) {
    return errors->kept == NULL ? i : errors->kept[i];
}
