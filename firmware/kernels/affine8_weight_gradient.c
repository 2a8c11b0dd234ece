/* The layers with weights of the format affine8, gradients: docs/arithmetic-affine8.md, section 7. */
#include "kernels/affine8.h"

#include "kernels/affine8_sums.h"
#include "kernels/backward_dsp.h"
#include "kernels/conv_band_s8.h"
#include "kernels/convolution.h"
#include "kernels/dsp.h"
#include "kernels/terms_s8.h"
#include "kernels/tflite_gradient_sums_s8.h"
#include "kernels/tflite_plane_s8.h"
#include "kernels/windows.h"

#if KERNELS_DSP

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
    const uint32_t taps = shape_taps(shape);
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

void affine8_fully_connected_weight_gradient(const int8_t *in, const affine8_errors_t *errors, uint32_t inputs,
                                             int8_t input_zero, int32_t *gradient) {
    outer_rows_t rows = {.in = in, .inputs = inputs, .zero = input_zero};
    for (uint32_t i = 0; i < errors->count; i++, gradient += inputs) {
        const int32_t e = errors->error[i] - errors->zero;
        if (e != 0) {
            outer_rows_take(&rows, gradient, e);
        }
    }
    outer_rows_finish(&rows);
}

#elif KERNELS_THUMB1

enum { CHUNK = 112, ERRORS = 64 }; /* inputs and errors at a time, 8 bytes of stack each */

/* Rows of positions whose padded inputs fit into the room for patches. */
static uint32_t rows_of(const layer_shape_t *shape) {
    const uint32_t room = (uint32_t)TFLITE_PATCHES * shape->kernel_h * shape->kernel_w * shape->in_c;
    const uint32_t rows = room / conv_band_width(shape, shape->stride_w);
    const uint32_t fit =
        rows < shape->kernel_h ? 0 : (rows - shape->kernel_h) / conv_band_step(shape, shape->stride_h) + 1;
    return fit < shape->out_h ? fit : shape->out_h;
}

static void add_terms(const conv_band_t *band, const term_t *terms, const term_t *end, int32_t *gradient) {
    const uint32_t row = (uint32_t)band->shape->kernel_w * band->shape->in_c;
    const int8_t *in = band->rows;
    for (uint32_t left = band->shape->kernel_h; left > 0; left--, in += band->pitch, gradient += row) {
        terms_add_sums(terms, (uint32_t)(end - terms), in, 1, row, gradient);
    }
}

/* The windows of all positions of the band, each times its error, for one channel; `error` is at the channel. */
static void add_windows(const conv_band_t *band, const affine8_errors_t *errors, const int8_t *error,
                        int32_t *gradient) {
    const layer_shape_t *shape = band->shape;
    const uint32_t step = band->stride_w * shape->in_c, row = conv_band_step(shape, band->stride_h) * band->pitch;
    term_t terms[ERRORS], *end = terms;
    for (uint32_t y = 0; y < band->count; y++) {
        for (uint32_t x = 0, n; x < shape->out_w; x += n) {
            const uint32_t left = shape->out_w - x, room = (uint32_t)(terms + ERRORS - end);
            n = left < room ? left : room;
            end = terms_of_differences(end, error, n, errors->count, errors->zero, y * row + x * step, step);
            error += n * errors->count;
            if (end == terms + ERRORS) {
                add_terms(band, terms, end, gradient);
                end = terms;
            }
        }
    }
    add_terms(band, terms, end, gradient);
}

static void add_bands(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape, int8_t input_zero,
                      uint32_t rows, int8_t *scratch, int32_t *gradient) {
    const uint32_t taps = shape_taps(shape);
    const int8_t *error = errors->error;
    conv_band_t band = {.shape = shape,
                        .in = in,
                        .stride_h = shape->stride_h,
                        .stride_w = shape->stride_w,
                        .zero = input_zero,
                        .pitch = conv_band_width(shape, shape->stride_w),
                        .rows = scratch};
    for (; band.y < shape->out_h; band.y += band.count, error += band.count * shape->out_w * errors->count) {
        band.count = shape->out_h - band.y < rows ? shape->out_h - band.y : rows;
        conv_band_fill(&band);
        for (uint32_t i = 0; i < errors->count; i++) {
            add_windows(&band, errors, error + i, gradient + i * taps);
        }
    }
    tflite_unfold_gradient(errors, (uint32_t)shape->out_h * shape->out_w, taps, input_zero, gradient);
}

void affine8_conv2d_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                    int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const uint32_t rows = rows_of(shape);
    if (rows > 0) {
        add_bands(in, errors, shape, input_zero, rows, scratch, gradient);
    } else {
        tflite_patches_gradient_s8(in, errors, shape, input_zero, scratch, gradient);
    }
}

void affine8_fully_connected_weight_gradient(const int8_t *in, const affine8_errors_t *errors, uint32_t inputs,
                                             int8_t input_zero, int32_t *gradient) {
    term_t terms[CHUNK];
    for (uint32_t first = 0; first < inputs; first += CHUNK) {
        const uint32_t n = inputs - first < CHUNK ? inputs - first : CHUNK;
        const term_t *end = terms_of_differences(terms, in + first, n, 1, input_zero, 4 * first, 4);
        for (uint32_t i = 0; i < errors->count; i++) {
            const int32_t e = errors->error[i] - errors->zero;
            if (e != 0) {
                terms_add_products(terms, (uint32_t)(end - terms), e, gradient + i * inputs);
            }
        }
    }
}

#else

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
    const uint32_t taps = shape_taps(shape);
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

void affine8_fully_connected_weight_gradient(const int8_t *in, const affine8_errors_t *errors, uint32_t inputs,
                                             int8_t input_zero, int32_t *gradient) {
    for (uint32_t i = 0; i < errors->count; i++) {
        const int32_t e = errors->error[i] - errors->zero;
        if (e != 0) {
            affine8_add_row(in, input_zero, e, inputs, gradient + i * inputs);
        }
    }
}

#endif

#if KERNELS_DSP || KERNELS_THUMB1

void affine8_pointwise_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                       int8_t input_zero, int32_t *gradient) {
    const uint32_t positions = (uint32_t)shape->in_h * shape->in_w, taps = shape->in_c;
    tflite_gradient_sums_s8(in, taps, positions, errors->error, errors->zero, errors->count, taps, gradient);
    tflite_unfold_gradient(errors, positions, taps, input_zero, gradient);
}

void affine8_depthwise_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                       int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    depthwise_planes_weight_gradient_s8(in, errors, shape, input_zero, scratch, gradient);
}

#else

void affine8_pointwise_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                       int8_t input_zero, int32_t *gradient) {
    affine8_errors_t position = *errors;
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0; left--) {
        affine8_fully_connected_weight_gradient(in, &position, shape->in_c, input_zero, gradient);
        position.error += errors->count;
        in += shape->in_c;
    }
}

/* Add what one output adds to the gradient of its channel; `step`: from tap to tap of the gradient. */
static void add_channel_window(const int8_t *in, int32_t input_zero, int32_t error, const layer_shape_t *shape,
                               span_t vertical, span_t horizontal, uint32_t step, int32_t *gradient) {
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
                    add_channel_window(in + errors->kept[i], input_zero, e, shape, vertical, horizontal, errors->count,
                                       gradient + i);
                }
            }
        }
    }
}

#endif

void affine8_bias_gradient(const affine8_errors_t *errors, uint32_t positions, uint32_t channels, int32_t *gradient) {
    for (uint32_t p = 0; p < positions; p++) {
        for (uint32_t i = 0; i < errors->count; i++) {
            gradient[i] += errors->error[p * channels + errors->kept[i]] - errors->zero;
        }
    }
}

/* A sum of 0 changes nothing: no gradient is -0. */
void affine8_add_gradient(const int32_t *sums, uint32_t n, uint32_t sum_step, float c, uint32_t step, float *gradient) {
    for (; n > 0; n--, sums += sum_step, gradient += step) {
        if (*sums != 0) {
            const float product = c * (float)*sums;
            *gradient = *gradient + product;
        }
    }
}
