/* conv2d of the format bfp8, gradient of the weights: docs/arithmetic.md, section 7. */
#include "kernels/convolution.h"

#include <stdint.h>
#include <string.h>

#include "arith/integers.h"
#include "kernels/backward_dsp.h"
#include "kernels/dsp.h"
#include "kernels/shapes.h"
#include "kernels/terms_s8.h"

enum { SLACK = 64 }; /* room for a kernel to read beyond the last row */

/* Bytes of scratch that pad_input_s8 needs, and with it every kernel of conv2d. */
static uint64_t pad_input_s8_scratch(const layer_shape_t *shape) {
    const uint64_t height = shape->in_h + 2u * shape->padding_h;
    const uint64_t width = shape->in_w + 2u * shape->padding_w;
    return height * width * shape->in_c + SLACK;
}

/* The padded input: (in_h + 2 padding) x (in_w + 2 padding) x in_c bytes of `scratch`, in which the inputs of one
   kernel row are contiguous. Copied without padding too, because of the room after it. */
SEPARATE static void pad_input_s8(const int8_t *in, const layer_shape_t *shape, int8_t *scratch) {
    const uint32_t row = (uint32_t)shape->in_w * shape->in_c;
    const uint32_t side = (uint32_t)shape->padding_w * shape->in_c;
    const uint32_t rows_above = shape->padding_h * (row + 2 * side);
    int8_t *out = scratch;
    memset(out, 0, rows_above);
    out += rows_above;
    for (uint32_t y = 0; y < shape->in_h; y++) {
        memset(out, 0, side);
        memcpy(out + side, in, row);
        memset(out + side + row, 0, side);
        out += row + 2 * side;
        in += row;
    }
    memset(out, 0, rows_above);
}

/* One formula for all cores, so that the host plans for any of them: the padded input, and for the DSP form the sums
   of one output channel. */
uint64_t conv2d_s8_weight_gradient_scratch(const layer_shape_t *shape) {
    const uint64_t taps = (uint64_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    return pad_input_s8_scratch(shape) + sizeof(int32_t) * taps;
}

#if !KERNELS_DSP

static void accumulate(const int32_t *sum, uint32_t taps, int32_t shift, int32_t *gradient) {
    for (uint32_t i = 0; i < taps; i++) {
        gradient[i] = add_sat32(gradient[i], trunc_shift(sum[i], shift));
    }
}

#endif

#if KERNELS_DSP

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

#elif KERNELS_THUMB1

enum { CHUNK = 64, SUMS = 128 }; /* errors and sums at a time, 8 and 4 bytes of stack each */

/* Taps whose sums are made together: `rows` runs of `n`, `row` bytes apart in the padded input. */
typedef struct {
    const int8_t *in; /* under the first tap of the first position */
    uint32_t rows, n, row;
    int32_t sum[SUMS];
} taps_t;

static void add_terms(taps_t *taps, const term_t *terms, uint32_t n) {
    for (uint32_t i = 0; i < taps->rows; i++) {
        terms_add_sums(terms, n, taps->in + i * taps->row, 1, taps->n, taps->sum + i * taps->n);
    }
}

/* Error times input over all positions; `error` is at the channel. Of the errors of 0, of which pooling and relu leave
   many, no term is made. */
static void sum_positions(taps_t *taps, const int8_t *error, const layer_shape_t *shape) {
    const uint32_t in_c = shape->in_c, out_c = shape->out_c;
    term_t terms[CHUNK];
    term_t *end = terms;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0, n; x < shape->out_w; x += n) {
            n = least_u32(shape->out_w - x, (uint32_t)(terms + CHUNK - end));
            end = terms_of_bytes(end, error, n, out_c, y * taps->row + x * in_c, in_c);
            error += n * out_c;
            if (end == terms + CHUNK) {
                add_terms(taps, terms, CHUNK);
                end = terms;
            }
        }
    }
    add_terms(taps, terms, (uint32_t)(end - terms));
}

void conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int32_t shift,
                               int8_t *scratch, int32_t *gradient) {
    pad_input_s8(in, shape, scratch);
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c; /* contiguous taps */
    const uint32_t n = least_u32(row, SUMS), rows = SUMS / n;
    taps_t taps = {.row = (shape->in_w + 2u * shape->padding_w) * shape->in_c};
    for (uint32_t o = 0; o < shape->out_c; o++) {
        for (uint32_t ky = 0; ky < shape->kernel_h; ky += taps.rows) {
            taps.rows = least_u32(rows, shape->kernel_h - ky);
            for (uint32_t j = 0; j < row; j += taps.n) {
                taps.n = least_u32(n, row - j);
                taps.in = scratch + ky * taps.row + j;
                memset(taps.sum, 0, sizeof taps.sum);
                sum_positions(&taps, error + o, shape);
                accumulate(taps.sum, taps.rows * taps.n, shift, gradient);
                gradient += taps.rows * taps.n;
            }
        }
    }
}

#else

enum { TAPS = 6 }; /* sums that stay in registers together */

/* sum[i]: error times in[i] over all positions; `in` is at the first tap of the first position, `error` at the channel.
   An error of 0, of which pooling and relu leave many, adds nothing. */
static inline void sum_positions(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int32_t sum[TAPS]) {
    const uint32_t in_c = shape->in_c, out_c = shape->out_c;
    const uint32_t row_end = (shape->kernel_w - 1u) * in_c; /* from after the last position of a row to the next row */
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const int32_t e = *error;
            if (e != 0) {
                s0 += e * in[0];
                s1 += e * in[1];
                s2 += e * in[2];
                s3 += e * in[3];
                s4 += e * in[4];
                s5 += e * in[5];
            }
            in += in_c;
            error += out_c;
        }
        in += row_end;
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
    sum[4] = s4;
    sum[5] = s5;
}

void conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int32_t shift,
                               int8_t *scratch, int32_t *gradient) {
    pad_input_s8(in, shape, scratch);
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c; /* contiguous taps */
    const uint32_t step = (shape->in_w + 2u * shape->padding_w) * shape->in_c;
    for (uint32_t o = 0; o < shape->out_c; o++) {
        for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
            for (uint32_t j = 0; j < row; j += TAPS) {
                const uint32_t taps = row - j < TAPS ? row - j : TAPS; /* sums beyond the row are not used */
                int32_t sum[TAPS];
                sum_positions(scratch + ky * step + j, error + o, shape, sum);
                accumulate(sum, taps, shift, gradient + j);
            }
            gradient += row;
        }
    }
}

#endif
