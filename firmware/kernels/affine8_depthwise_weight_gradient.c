#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_depthwise_cores.c */

#include "kernels/affine8.h"
#include "kernels/tflite_windows.h"

/* Add what one output adds to the gradient of its channel; `step`: from tap to tap of the gradient. */
static void add_window(const int8_t *in, int32_t input_zero, int32_t error, const layer_shape_t *shape, span_t vertical,
                       span_t horizontal, uint32_t step, int32_t *gradient) {
    const uint32_t channels = shape->in_c;
    for (uint32_t i = 0; i < vertical.inside; i++) {
        const int8_t *x = in + ((vertical.at + i) * shape->in_w + horizontal.at) * channels;
        int32_t *to = gradient + ((vertical.before + i) * shape->kernel_w + horizontal.before) * step;
        for (uint32_t j = 0; j < horizontal.inside; j++, x += channels, to += step) {
            *to = (int32_t)((uint32_t)*to + (uint32_t)(error * (*x - input_zero)));
        }
    }
}

void affine8_depthwise_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                       int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const int8_t *error = errors->error;
    (void)scratch;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++, error += shape->in_c) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            for (uint32_t i = 0; i < errors->count; i++) {
                const int32_t e = error[errors->kept[i]] - errors->zero;
                if (e != 0) {
                    add_window(in + errors->kept[i], input_zero, e, shape, vertical, horizontal, errors->count,
                               gradient + i);
                }
            }
        }
    }
}

#endif
