/* The gradient of one weight of binary32: docs/arithmetic-float32.md, section 5. Private to the kernels of gradients. */
#pragma once

#include "kernels/shapes.h"
#include "kernels/sums_f32.h"
#include "kernels/windows.h"

/* The outputs that one tap meets, and how far apart their errors and the inputs under it are. */
typedef struct {
    uint32_t rows, columns;
    uint32_t error_row, error_column, input_row, input_column;
    uint32_t error, input; /* where the first are */
} meeting_t;

static inline meeting_t meeting_of(const layer_shape_t *shape, uint32_t ky, uint32_t kx) {
    const tap_outputs_t rows = outputs_of_tap(ky, shape->stride_h, shape->padding_h, shape->in_h, shape->out_h);
    const tap_outputs_t columns = outputs_of_tap(kx, shape->stride_w, shape->padding_w, shape->in_w, shape->out_w);
    const bool none = rows.first >= rows.end || columns.first >= columns.end;
    const uint32_t in_c = shape->in_c, out_c = shape->out_c;
    return (meeting_t){.rows = none ? 0 : rows.end - rows.first,
                       .columns = none ? 0 : columns.end - columns.first,
                       .error_row = (uint32_t)shape->out_w * out_c,
                       .error_column = out_c,
                       .input_row = (uint32_t)shape->in_w * in_c * shape->stride_h,
                       .input_column = in_c * shape->stride_w,
                       .error = (rows.first * shape->out_w + columns.first) * out_c,
                       .input = (rows.input * shape->in_w + columns.input) * in_c};
}

/* The sum of the products, which is 0 without outputs. */
static inline float sum_meeting(const float *error, const float *in, const meeting_t *meeting) {
    float sum = 0.0f;
    for (uint32_t y = 0; y < meeting->rows; y++) {
        const float *e = error + meeting->error + y * meeting->error_row,
                    *x = in + meeting->input + y * meeting->input_row;
        for (uint32_t i = 0; i < meeting->columns; i++, e += meeting->error_column, x += meeting->input_column) {
            sum = add_product_f32(sum, *x, *e);
        }
    }
    return sum;
}
