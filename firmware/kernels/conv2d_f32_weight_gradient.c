#include "kernels/fpu.h"

#if !KERNELS_FPU /* else conv2d_f32_weight_gradient_fpu.c */

#include "kernels/conv2d_f32.h"
#include "kernels/tap_outputs.h"

/* The outputs that one tap meets, and how far apart their errors and the inputs under it are. */
typedef struct {
    uint32_t rows, columns;
    uint32_t error_row, error_column, input_row, input_column;
} meeting_t;

static float sum_outputs(const float *error, const float *in, const meeting_t *meeting) {
    float sum = 0.0f;
    for (uint32_t y = 0; y < meeting->rows; y++) {
        const float *e = error + y * meeting->error_row, *x = in + y * meeting->input_row;
        for (uint32_t i = 0; i < meeting->columns; i++, e += meeting->error_column, x += meeting->input_column) {
            sum = add_product_f32(sum, *x, *e);
        }
    }
    return sum;
}

/* The gradient of the taps at (ky, kx), of all channels. */
static void add_tap(const float *in, const float *error, const layer_shape_t *shape, uint32_t ky, uint32_t kx,
                    float *gradient) {
    const tap_outputs_t rows = outputs_of_tap(ky, shape->stride_h, shape->padding_h, shape->in_h, shape->out_h);
    const tap_outputs_t columns = outputs_of_tap(kx, shape->stride_w, shape->padding_w, shape->in_w, shape->out_w);
    if (rows.first >= rows.end || columns.first >= columns.end) {
        return;
    }
    const uint32_t in_c = shape->in_c, out_c = shape->out_c, taps = (uint32_t)shape->kernel_h * shape->kernel_w * in_c;
    const meeting_t meeting = {.rows = rows.end - rows.first,
                               .columns = columns.end - columns.first,
                               .error_row = (uint32_t)shape->out_w * out_c,
                               .error_column = out_c,
                               .input_row = (uint32_t)shape->in_w * in_c * shape->stride_h,
                               .input_column = in_c * shape->stride_w};
    in += (rows.input * shape->in_w + columns.input) * in_c;
    error += (rows.first * shape->out_w + columns.first) * out_c;
    gradient += (ky * shape->kernel_w + kx) * in_c;
    for (uint32_t o = 0; o < out_c; o++, gradient += taps) {
        for (uint32_t c = 0; c < in_c; c++) {
            gradient[c] = gradient[c] + sum_outputs(error + o, in + c, &meeting);
        }
    }
}

void conv2d_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient) {
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            add_tap(in, error, shape, ky, kx, gradient);
        }
    }
}

#endif
