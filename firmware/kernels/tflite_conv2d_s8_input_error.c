#include "kernels/tflite_conv2d_s8_input_error.h"

#include <string.h>

#include "kernels/tflite_span.h"
#include "kernels/weighted_rows_s8.h"

/* Spread the errors of one output position over the inputs under its window. */
static void spread_position(const weighted_rows_t *rows, const layer_shape_t *shape, span_t vertical, span_t horizontal,
                            int32_t *acc) {
    const uint32_t in_c = shape->in_c;
    for (uint32_t i = 0; i < vertical.inside; i++) {
        const uint32_t tap = (vertical.before + i) * shape->kernel_w + horizontal.before;
        const uint32_t position = (vertical.at + i) * shape->in_w + horizontal.at;
        weighted_rows_add(rows, tap * in_c, horizontal.inside * in_c, acc + position * in_c);
    }
}

void tflite_conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape, int32_t *acc) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride, shape->padding, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride, shape->padding, shape->kernel_w, shape->in_w);
            weighted_rows_t rows;
            uint32_t next = 0;
            while (weighted_rows_take(&rows, error, &next, shape->out_c, weights, taps) > 0) {
                spread_position(&rows, shape, vertical, horizontal, acc);
            }
            error += shape->out_c;
        }
    }
}
