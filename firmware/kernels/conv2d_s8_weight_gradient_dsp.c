#include "kernels/dsp.h"

#if KERNELS_DSP

#include "arith/round_shift.h"
#include "kernels/backward_dsp.h"
#include "kernels/convolution.h"
#include "kernels/pad_input_s8.h"

/* Add the windows of all positions, each times its error, to the sums of one channel. `in` is at the first window,
   `error` at the channel. An error of 0, of which pooling and relu leave many, adds nothing. */
static inline void add_windows(const runs_t *sums, const int8_t *in, const int8_t *error, const layer_shape_t *shape) {
    const uint32_t in_c = shape->in_c, out_c = shape->out_c, out_w = shape->out_w;
    const uint32_t to_next_row = (shape->kernel_w - 1u) * in_c;
    weighted_rows_t windows;
    uint32_t count = 0;
    for (uint32_t y = 0; y < shape->out_h; y++, in += to_next_row) {
        for (const int8_t *end = error + out_w * out_c; error != end; error += out_c, in += in_c) {
            if (*error != 0) {
                count = weighted_runs_take(sums, &windows, count, in, *error);
            }
        }
    }
    weighted_runs_finish(sums, &windows, count);
}

static void accumulate(const int32_t *sum, uint32_t taps, int32_t shift, int32_t *gradient) {
    if (shift == 0) {
        for (uint32_t i = 0; i < taps; i++) {
            gradient[i] = add_saturating(gradient[i], sum[i]);
        }
        return;
    }
    for (uint32_t i = 0; i < taps; i++) {
        gradient[i] = add_saturating(gradient[i], trunc_shift(sum[i], shift));
    }
}

void conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int32_t shift,
                               int8_t *scratch, int32_t *gradient) {
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c, taps = shape->kernel_h * row, word = sizeof(int32_t);
    int32_t *const sum = (int32_t *)(void *)scratch;
    int8_t *const padded = scratch + taps * word;
    const affine8_errors_t all = {.error = error, .count = shape->out_c};
    const bool by_fours = gradient_fours_take(shape, &all);
    if (by_fours) {
        gradient_fours_planes(in, shape, 0, 0, shape->in_h + 2u * shape->padding_h, padded);
    } else {
        pad_input_s8(in, shape, padded);
    }
    const runs_t sums = {
        .fours = row / 4 * 4 * word,
        .rest = row % 4 * word,
        .row_skip = (shape->in_w + 2u * shape->padding_w) * shape->in_c - row,
        .acc = sum,
        .acc_end = sum + taps,
    };
    for (uint32_t o = 0; o < shape->out_c; o++, gradient += taps) {
        memset(sum, 0, taps * word);
        if (by_fours) {
            gradient_fours_add(padded, shape->out_h, &all, error + o, shape, sum);
        } else {
            add_windows(&sums, padded, error + o, shape);
        }
        accumulate(sum, taps, shift, gradient);
    }
}

#endif
