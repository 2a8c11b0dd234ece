/* Steps of weight gradients: docs/arithmetic-tflite.md, section 5; docs/arithmetic-affine8.md, section 7. */
#include "kernels/tflite_gradient_sums_s8.h"

#include <stdint.h>
#include <string.h>

#include "kernels/backward_dsp.h"
#include "kernels/convolution.h"
#include "kernels/dsp.h"
#include "kernels/terms_s8.h"
#include "kernels/windows.h"

static int8_t *take_patch(const int8_t *in, const layer_shape_t *shape, int8_t zero, span_t vertical, span_t horizontal,
                          int8_t *patch) {
    const uint32_t in_c = shape->in_c, row = shape->kernel_w * in_c;
    const uint32_t before = horizontal.before * in_c, inside = horizontal.inside * in_c;
    const int8_t *from = in + (vertical.at * shape->in_w + horizontal.at) * in_c;
    memset(patch, zero, vertical.before * row);
    patch += vertical.before * row;
    for (uint32_t i = 0; i < vertical.inside; i++) {
        memset(patch, zero, before);
        memcpy(patch + before, from, inside);
        memset(patch + before + inside, zero, row - before - inside);
        patch += row;
        from += shape->in_w * in_c;
    }
    const uint32_t below = (shape->kernel_h - vertical.before - vertical.inside) * row;
    memset(patch, zero, below);
    return patch + below;
}

SEPARATE void tflite_patches_s8(const int8_t *in, const layer_shape_t *shape, int8_t input_zero, uint32_t first,
                                uint32_t positions, int8_t *patches) {
    uint32_t y = first / shape->out_w, x = first % shape->out_w;
    for (uint32_t p = 0; p < positions; p++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
        patches = take_patch(in, shape, input_zero, vertical, horizontal, patches);
        if (++x == shape->out_w) {
            x = 0;
            y++;
        }
    }
}

#if KERNELS_DSP

/* The inputs of four positions whose errors are not 0 meet one row of the gradient at a time. */
static inline void add_sums(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error, int32_t zero,
                            uint32_t channels, uint32_t taps, int32_t *gradient) {
    const uint32_t word = sizeof *gradient;
    for (uint32_t o = 0; o < channels; o++, gradient += taps) {
        const runs_t runs = {
            .fours = taps / 4 * 4 * word, .rest = taps % 4 * word, .acc = gradient, .acc_end = gradient + taps};
        const int8_t *row = in, *e = error + o;
        weighted_rows_t rows;
        uint32_t count = 0;
        for (const int8_t *const end = e + positions * channels; e != end; e += channels, row += step) {
            if (*e != zero) {
                count = weighted_runs_take(&runs, &rows, count, row, *e - zero);
            }
        }
        weighted_runs_finish(&runs, &rows, count);
    }
}

SEPARATE void tflite_gradient_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error,
                                      int8_t error_zero, uint32_t channels, uint32_t taps, int32_t *gradient) {
    if (error_zero == 0) { /* as a constant to the compiler */
        add_sums(in, step, positions, error, 0, channels, taps, gradient);
    } else {
        add_sums(in, step, positions, error, error_zero, channels, taps, gradient);
    }
}

#elif KERNELS_THUMB1

enum { CHUNK = 64 }; /* errors at a time, 8 bytes of stack each */

SEPARATE void tflite_gradient_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error,
                                      int8_t error_zero, uint32_t channels, uint32_t taps, int32_t *gradient) {
    term_t terms[CHUNK];
    for (uint32_t first = 0, n; first < positions; first += n) {
        n = positions - first < CHUNK ? positions - first : CHUNK;
        for (uint32_t o = 0; o < channels; o++) {
            const term_t *const end = terms_of_differences(terms, error + o, n, channels, error_zero, 0, step);
            terms_add_sums(terms, (uint32_t)(end - terms), in, 1, taps, gradient + o * taps);
        }
        in += n * step;
        error += n * channels;
    }
}

#else

enum { TAPS = 4 }; /* sums that stay in registers together */

/* An error of 0, of which the gate leaves many, adds nothing. */
static inline void four_taps(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error, int32_t zero,
                             uint32_t channels, int32_t sum[TAPS]) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (uint32_t p = 0; p < positions; p++, in += step, error += channels) {
        const int32_t e = *error - zero;
        if (e != 0) {
            s0 += e * in[0];
            s1 += e * in[1];
            s2 += e * in[2];
            s3 += e * in[3];
        }
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

static inline int32_t one_tap(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error, int32_t zero,
                              uint32_t channels) {
    int32_t sum = 0;
    for (uint32_t p = 0; p < positions; p++) {
        sum += (error[p * channels] - zero) * in[p * step];
    }
    return sum;
}

static inline void add(int32_t *gradient, int32_t sum) {
    *gradient = (int32_t)((uint32_t)*gradient + (uint32_t)sum);
}

SEPARATE void tflite_gradient_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error,
                                      int8_t error_zero, uint32_t channels, uint32_t taps, int32_t *gradient) {
    for (uint32_t o = 0; o < channels; o++, gradient += taps) {
        uint32_t t = 0;
        for (; t + TAPS <= taps; t += TAPS) {
            int32_t sum[TAPS];
            four_taps(in + t, step, positions, error + o, error_zero, channels, sum);
            for (uint32_t i = 0; i < TAPS; i++) {
                add(gradient + t + i, sum[i]);
            }
        }
        for (; t < taps; t++) {
            add(gradient + t, one_tap(in + t, step, positions, error + o, error_zero, channels));
        }
    }
}

#endif

enum { ERROR_SUMS = 4 };

/* error_sums_s8(): sums[i] = the sum of error[p * channels + i] over the positions, for ERROR_SUMS channels. */

#if KERNELS_DSP

enum { FIT = 255 }; /* bytes whose sum has 16 bits */

SEPARATE static void error_sums_s8(const int8_t *error, uint32_t positions, uint32_t channels,
                                   int32_t sums[ERROR_SUMS]) {
    memset(sums, 0, ERROR_SUMS * sizeof sums[0]);
    while (positions > 0) {
        const uint32_t n = positions < FIT ? positions : FIT;
        uint32_t even = 0, odd = 0;
        for (const int8_t *const end = error + n * channels; error != end; error += channels) {
            const uint32_t word = load_word(error);
            even = add_even_lanes(even, word);
            odd = add_odd_lanes(odd, word);
        }
        sums[0] += (int16_t)(even & 0xFFFFu);
        sums[1] += (int16_t)(odd & 0xFFFFu);
        sums[2] += (int16_t)(even >> 16);
        sums[3] += (int16_t)(odd >> 16);
        positions -= n;
    }
}

#else

SEPARATE static void error_sums_s8(const int8_t *error, uint32_t positions, uint32_t channels,
                                   int32_t sums[ERROR_SUMS]) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (const int8_t *const end = error + positions * channels; error != end; error += channels) {
        s0 += error[0];
        s1 += error[1];
        s2 += error[2];
        s3 += error[3];
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

#endif

static inline int32_t less(int32_t value, uint32_t offset) {
    return (int32_t)((uint32_t)value - offset);
}

/* By fours, since the compiler unrolls no loop of unknown length. */
static void subtract(int32_t *gradient, uint32_t taps, uint32_t offset) {
    const int32_t *const end = gradient + taps;
    for (const int32_t *const fours = gradient + taps / 4 * 4; gradient != fours; gradient += 4) {
        const int32_t a = gradient[0], b = gradient[1], c = gradient[2], d = gradient[3];
        gradient[0] = less(a, offset);
        gradient[1] = less(b, offset);
        gradient[2] = less(c, offset);
        gradient[3] = less(d, offset);
    }
    for (; gradient != end; gradient++) {
        *gradient = less(*gradient, offset);
    }
}

/* Channels first..first + n - 1, at most ERROR_SUMS. Where there are so many, all are summed up at once. */
static void sum_channels(const affine8_errors_t *errors, uint32_t positions, uint32_t first, uint32_t n,
                         int32_t sums[ERROR_SUMS]) {
    const int8_t *const error = errors->error + first;
    if (n == ERROR_SUMS) {
        error_sums_s8(error, positions, errors->count, sums);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        sums[i] = 0;
        for (uint32_t p = 0; p < positions; p++) {
            sums[i] += error[p * errors->count + i];
        }
    }
}

SEPARATE void tflite_unfold_gradient(const affine8_errors_t *errors, uint32_t positions, uint32_t taps,
                                     int8_t input_zero, int32_t *gradient) {
    if (input_zero == 0) {
        return;
    }
    for (uint32_t o = 0, n; o < errors->count; o += n) {
        int32_t sums[ERROR_SUMS];
        n = errors->count - o < ERROR_SUMS ? errors->count - o : ERROR_SUMS;
        sum_channels(errors, positions, o, n, sums);
        for (uint32_t i = 0; i < n; i++, gradient += taps) {
            const int32_t sum = sums[i] - errors->zero * (int32_t)positions;
            if (sum != 0) {
                subtract(gradient, taps, (uint32_t)input_zero * (uint32_t)sum);
            }
        }
    }
}

void tflite_patches_gradient_s8(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const uint32_t taps = shape_taps(shape), channels = errors->count;
    const uint32_t positions = (uint32_t)shape->out_h * shape->out_w;
    for (uint32_t first = 0; first < positions; first += TFLITE_PATCHES) {
        const uint32_t n = positions - first < TFLITE_PATCHES ? positions - first : TFLITE_PATCHES;
        tflite_patches_s8(in, shape, input_zero, first, n, scratch);
        tflite_gradient_sums_s8(scratch, taps, n, errors->error + first * channels, errors->zero, channels, taps,
                                gradient);
    }
    tflite_unfold_gradient(errors, positions, taps, input_zero, gradient);
}
