#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_conv2d_weight_gradient_dsp.c, affine8_weight_gradient_m0.c */

#include "kernels/affine8.h"
#include "kernels/affine8_rows.h"
#include "kernels/tflite_windows.h"

/* Add what one output adds to the gradient of its channel: the inputs under its window, inside the image. */
static void add_window(const int8_t *in, int32_t input_zero, int32_t error, const layer_shape_t *shape, span_t vertical,
                       span_t horizontal, int32_t *gradient) {
    const uint32_t in_c = shape->in_c, n = horizontal.inside * in_c;
    in += (vertical.at * shape->in_w + horizontal.at) * in_c;
    gradient += (vertical.before * shape->kernel_w + horizontal.before) * in_c;
    for (uint32_t i = 0; i < vertical.inside; i++) {
        affine8_add_row(in, input_zero, error, n, gradient);
        in += shape->in_w * in_c;
        gradient += shape->kernel_w * in_c;
    }
}

void affine8_conv2d_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                    int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    const int8_t *error = errors->error;
    (void)scratch;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            for (uint32_t i = 0; i < errors->count; i++) {
                const int32_t e = *error++ - errors->zero;
                if (e != 0) {
                    add_window(in, input_zero, e, shape, vertical, horizontal, gradient + i * taps);
                }
            }
        }
    }
}

#endif
