#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/conv_band_s8.h"
#include "kernels/convolution.h"
#include "kernels/terms_s8.h"
#include "kernels/tflite_gradient_sums_s8.h"

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
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
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

#endif
