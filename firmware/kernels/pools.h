/* Windows of pools: docs/arithmetic-tflite.md, sections 2 and 4. Private to the kernels of pools. */
#pragma once

#include "kernels/shapes.h"
#include "kernels/windows.h"

/* The window of an output inside the image: `rows` by `columns` positions, which are `row` and `column` elements apart.
   Its first channel begins at element `at`. */
typedef struct {
    uint32_t rows, columns, row, column, at;
} pool_window_t;

static inline pool_window_t pool_window(const layer_shape_t *shape, uint32_t y, uint32_t x) {
    const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
    const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    return (pool_window_t){.rows = vertical.inside,
                           .columns = horizontal.inside,
                           .row = row,
                           .column = column,
                           .at = vertical.at * row + horizontal.at * column};
}

/* The same where windows lie within the image. */
static inline pool_window_t whole_window(const layer_shape_t *shape, uint32_t y, uint32_t x) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    return (pool_window_t){.rows = shape->kernel_h,
                           .columns = shape->kernel_w,
                           .row = row,
                           .column = column,
                           .at = y * shape->stride_h * row + x * shape->stride_w * column};
}

/* The maximum of one channel of `rows` by `columns` positions; the offset of the first one; the sum. */
static inline int8_t maximum_s8(const int8_t *in, uint32_t rows, uint32_t columns, uint32_t row, uint32_t column) {
    int8_t maximum = *in;
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < columns; j++) {
            const int8_t value = in[i * row + j * column];
            maximum = value > maximum ? value : maximum;
        }
    }
    return maximum;
}

static inline uint32_t first_maximum_s8(const int8_t *in, uint32_t rows, uint32_t columns, uint32_t row,
                                        uint32_t column) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < columns; j++) {
            const uint32_t at = i * row + j * column;
            found = in[at] > in[found] ? at : found;
        }
    }
    return found;
}

static inline int32_t sum_s8(const int8_t *in, uint32_t rows, uint32_t columns, uint32_t row, uint32_t column) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < columns; j++) {
            sum += in[i * row + j * column];
        }
    }
    return sum;
}
