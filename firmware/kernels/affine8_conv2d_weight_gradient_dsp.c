#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/backward_dsp.h"
#include "kernels/convolution.h"
#include "kernels/tflite_gradient_sums_s8.h"

enum { SLACK = 4 };

/* Rows of positions whose inputs fit into the room for patches. */
static uint32_t rows_of(const layer_shape_t *shape) {
    const uint32_t room = (uint32_t)TFLITE_PATCHES * shape->kernel_h * shape->kernel_w * shape->in_c - SLACK;
    const uint32_t rows = room / (gradient_fours_width(shape) * shape->in_c) + 1;
    const uint32_t fit = rows > shape->kernel_h ? rows - shape->kernel_h : 0;
    return fit < shape->out_h ? fit : shape->out_h;
}

static void add_bands(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape, int8_t input_zero,
                      uint32_t rows, int8_t *planes, int32_t *gradient) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    const int8_t *error = errors->error;
    for (uint32_t y = 0, count; y < shape->out_h; y += count, error += count * shape->out_w * errors->count) {
        count = shape->out_h - y < rows ? shape->out_h - y : rows;
        gradient_fours_planes(in, shape, input_zero, y, count + shape->kernel_h - 1, planes);
        for (uint32_t i = 0; i < errors->count; i++) {
            gradient_fours_add(planes, count, errors, error + i, shape, gradient + i * taps);
        }
    }
    tflite_unfold_gradient(errors, (uint32_t)shape->out_h * shape->out_w, taps, input_zero, gradient);
}

void affine8_conv2d_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                    int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const uint32_t rows = shape->stride_h == 1 && shape->stride_w == 1 ? rows_of(shape) : 0;
    if (rows > 0 && gradient_fours_take(shape, errors)) {
        add_bands(in, errors, shape, input_zero, rows, scratch, gradient);
    } else {
        tflite_patches_gradient_s8(in, errors, shape, input_zero, scratch, gradient);
    }
}

#endif
