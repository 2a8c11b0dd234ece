#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/backward_dsp.h"
#include "kernels/conv_input_error.h"
#include "kernels/dsp_multiply.h"
#include "kernels/tflite_windows.h"

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

static uint32_t taps_of(const layer_shape_t *shape) {
    return (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
}

bool conv_error_widens(const affine8_errors_t *errors, const layer_shape_t *shape) {
    return taps_of(shape) <= FEW_TAPS && errors->count >= 4;
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
    const uint32_t taps = taps_of(shape), count = errors->count;
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

#endif
