#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else s8_input_error_cores.c */

#include "kernels/convolution.h"

#include <string.h>

#include "kernels/taps_inside.h"
#include "kernels/weighted_rows_s8.h"

/* Spread the errors of one output position over the inputs under its window. */
static void spread_position(const weighted_rows_t *rows, const layer_shape_t *shape, uint32_t y, uint32_t x,
                            int32_t *acc) {
    const inside_t vertical = taps_inside(y, shape->kernel_h, shape->padding_h, shape->in_h);
    const inside_t horizontal = taps_inside(x, shape->kernel_w, shape->padding_w, shape->in_w);
    const uint32_t in_c = shape->in_c;
    const uint32_t n = (horizontal.end - horizontal.first) * in_c;
    for (uint32_t ky = vertical.first; ky < vertical.end; ky++) {
        const uint32_t in_y = vertical.input + (ky - vertical.first);
        weighted_rows_add(rows, (ky * shape->kernel_w + horizontal.first) * in_c, n,
                          acc + (in_y * shape->in_w + horizontal.input) * in_c);
    }
}

void conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape, int32_t *acc) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            weighted_rows_t rows;
            uint32_t next = 0;
            while (weighted_rows_take(&rows, error, &next, shape->out_c, weights, taps) > 0) {
                spread_position(&rows, shape, y, x, acc);
            }
            error += shape->out_c;
        }
    }
}

#endif
