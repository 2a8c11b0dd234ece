#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_depthwise_cores.c */

#include <string.h>

#include "kernels/affine8.h"
#include "kernels/tflite_windows.h"

/* Add what the window of an output has inside the image, in one channel. */
static void add_window(const int8_t *weights, int32_t weight_zero, int32_t error, const layer_shape_t *shape,
                       span_t vertical, span_t horizontal, int32_t *acc) {
    const uint32_t channels = shape->in_c;
    for (uint32_t i = 0; i < vertical.inside; i++) {
        const int8_t *w = weights + ((vertical.before + i) * shape->kernel_w + horizontal.before) * channels;
        int32_t *to = acc + ((vertical.at + i) * shape->in_w + horizontal.at) * channels;
        for (uint32_t j = 0; j < horizontal.inside; j++, w += channels, to += channels) {
            *to += error * (*w - weight_zero);
        }
    }
}

void affine8_depthwise_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                   const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    const int8_t *error = errors->error;
    (void)scratch;
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++, error += shape->in_c) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            for (uint32_t i = 0; i < errors->count; i++) {
                const uint32_t c = errors->kept[i];
                const int32_t e = error[c] - errors->zero;
                if (e != 0) {
                    add_window(weights + c, weight_zero, e, shape, vertical, horizontal, acc + c);
                }
            }
        }
    }
}

#endif
