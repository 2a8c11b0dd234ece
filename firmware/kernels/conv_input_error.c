/* The error of the input of a layer with weights, as the cores with DSP instructions and Armv6-M add it up. */
#include "kernels/conv_input_error.h"

#include "kernels/backward_dsp.h"
#include "kernels/dsp.h"
#include "kernels/terms_s8.h"
#include "kernels/windows.h"

#if KERNELS_DSP

enum { FEW_TAPS = 48 };

/* What the window of a position has inside the input. */
static inline runs_t runs_inside(const layer_shape_t *shape, span_t vertical, span_t horizontal, int32_t *acc) {
    const uint32_t in_c = shape->in_c, word = sizeof *acc;
    const uint32_t n = horizontal.inside * in_c, pitch = shape->in_w * in_c;
    int32_t *const first = acc + vertical.at * pitch + horizontal.at * in_c;
    return (runs_t){
        .fours = n / 4 * 4 * word,
        .rest = n % 4 * word,
        .row_skip = shape->kernel_w * in_c - n,
        .acc_skip = (pitch - n) * word,
        .acc = first,
        .acc_end = first + vertical.inside * pitch,
    };
}

bool conv_error_widens(const affine8_errors_t *errors, const layer_shape_t *shape) {
    return shape_taps(shape) <= FEW_TAPS && errors->count >= 4;
}

/* Four channels of all positions, from `error` on; strides of 1 are constants to the compiler. */
static inline void spread_four(const affine8_errors_t *errors, const int8_t *error, const four_weights_t *wide,
                               const layer_shape_t *shape, uint32_t stride_h, uint32_t stride_w, int32_t *acc) {
    const uint32_t in_c = shape->in_c, row = shape->kernel_w * in_c, count = errors->count;
    const uint32_t negative_zero = low_lanes((uint32_t)-errors->zero, (uint32_t)-errors->zero);
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++, error += count) {
            const uint32_t word = load_word(error), even = add_even_lanes(negative_zero, word),
                           odd = add_odd_lanes(negative_zero, word);
            if ((even | odd) != 0) {
                const span_t horizontal = span_of(x, stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
                const runs_t runs = runs_inside(shape, vertical, horizontal, acc);
                four_channels_add(&runs, wide + vertical.before * row + horizontal.before * in_c, even, odd);
            }
        }
    }
}

/* A kernel of few taps: its weights are widened once for all positions. If the channels are no whole fours, the last
   four begin with channels of the four before, with weights of 0. */
static void spread_fours(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                         const layer_shape_t *shape, uint32_t stride_h, uint32_t stride_w, int32_t *acc) {
    const uint32_t taps = shape_taps(shape), count = errors->count;
    four_weights_t wide[FEW_TAPS];
    for (uint32_t o = 0; o < count; o += 4) {
        const uint32_t first = o + 4 <= count ? o : count - 4u;
        const int8_t *rows[4];
        for (uint32_t i = 0; i < 4; i++) {
            rows[i] = weights + row_of_error(errors, first + i) * taps;
        }
        four_channels_widen(rows, taps, weight_zero, o - first, wide);
        if (stride_h == 1 && stride_w == 1) {
            spread_four(errors, errors->error + first, wide, shape, 1, 1, acc);
        } else {
            spread_four(errors, errors->error + first, wide, shape, stride_h, stride_w, acc);
        }
    }
}

void conv_add_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                          const layer_shape_t *shape, uint32_t stride_h, uint32_t stride_w, int32_t *acc) {
    if (conv_error_widens(errors, shape)) {
        spread_fours(errors, weights, weight_zero, shape, stride_h, stride_w, acc);
        return;
    }
    const uint32_t in_c = shape->in_c, row = shape->kernel_w * in_c, taps = shape->kernel_h * row;
    const int8_t *error = errors->error;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const runs_t runs = runs_inside(shape, vertical, horizontal, acc);
            const int8_t *const first = weights + vertical.before * row + horizontal.before * in_c;
            weighted_runs_add_all(&runs, errors, error, first, taps);
            error += errors->count;
        }
    }
}

void matrix_add_input_error(const affine8_errors_t *errors, const int8_t *weights, uint32_t inputs, int32_t *acc) {
    const uint32_t bytes = inputs * (uint32_t)sizeof acc[0];
    const runs_t runs = {.fours = bytes / 16 * 16, .rest = bytes % 16, .acc = acc, .acc_end = acc + inputs};
    weighted_runs_add_all(&runs, errors, errors->error, weights, inputs);
}

#elif KERNELS_THUMB1

enum { CHUNK = 64 }; /* channels at a time, 8 bytes of stack each */

bool conv_error_widens(const affine8_errors_t *errors, const layer_shape_t *shape) {
    (void)errors;
    (void)shape;
    return false;
}

/* Spread the errors of one output position over the inputs under its window. */
static void spread_position(const term_t *terms, uint32_t n, const int8_t *weights, const layer_shape_t *shape,
                            span_t vertical, span_t horizontal, int32_t *acc) {
    const uint32_t in_c = shape->in_c;
    const uint32_t acc_row = shape->in_w * in_c, weights_row = shape->kernel_w * in_c;
    const uint32_t taps = horizontal.inside * in_c;
    acc += vertical.at * acc_row + horizontal.at * in_c;
    weights += vertical.before * weights_row + horizontal.before * in_c;
    for (uint32_t left = vertical.inside; left > 0; left--) {
        terms_add_sums(terms, n, weights, 1, taps, acc);
        acc += acc_row;
        weights += weights_row;
    }
}

void conv_add_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                          const layer_shape_t *shape, uint32_t stride_h, uint32_t stride_w, int32_t *acc) {
    const uint32_t taps = shape_taps(shape), count = errors->count;
    const int8_t *error = errors->error;
    (void)weight_zero;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++, error += count) {
            const span_t horizontal = span_of(x, stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            for (uint32_t first = 0; first < count; first += CHUNK) {
                term_t terms[CHUNK];
                const uint32_t n = count - first < CHUNK ? count - first : CHUNK;
                const term_t *end = terms_of_errors(terms, errors, error, first, n, taps);
                if (end != terms) {
                    spread_position(terms, (uint32_t)(end - terms), weights, shape, vertical, horizontal, acc);
                }
            }
        }
    }
}

enum { MATRIX_CHUNK = 112 }; /* outputs at a time, 8 bytes of stack each */

void matrix_add_input_error(const affine8_errors_t *errors, const int8_t *weights, uint32_t inputs, int32_t *acc) {
    term_t terms[MATRIX_CHUNK];
    for (uint32_t first = 0; first < errors->count; first += MATRIX_CHUNK) {
        const uint32_t n = errors->count - first < MATRIX_CHUNK ? errors->count - first : MATRIX_CHUNK;
        const term_t *end = terms_of_errors(terms, errors, errors->error, first, n, inputs);
        terms_add_sums(terms, (uint32_t)(end - terms), weights, 1, inputs, acc);
    }
}

#endif
