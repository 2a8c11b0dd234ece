#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include <string.h>

#include "arith/clip127.h"
#include "arith/round_shift.h"
#include "kernels/convolution.h"
#include "kernels/pad_input_s8.h"
#include "kernels/terms_s8.h"

enum { CHUNK = 64, SUMS = 128 }; /* errors and sums at a time, 8 and 4 bytes of stack each */

/* Taps whose sums are made together: `rows` runs of `n`, `row` bytes apart in the padded input. */
typedef struct {
    const int8_t *in; /* under the first tap of the first position */
    uint32_t rows, n, row;
    int32_t sum[SUMS];
} taps_t;

static inline uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

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
            n = least(shape->out_w - x, (uint32_t)(terms + CHUNK - end));
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

static void accumulate(const taps_t *taps, int32_t shift, int32_t *gradient) {
    for (uint32_t i = 0; i < taps->rows * taps->n; i++) {
        gradient[i] = add_sat32(gradient[i], trunc_shift(taps->sum[i], shift));
    }
}

void conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int32_t shift,
                               int8_t *scratch, int32_t *gradient) {
    pad_input_s8(in, shape, scratch);
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c; /* contiguous taps */
    const uint32_t n = least(row, SUMS), rows = SUMS / n;
    taps_t taps = {.row = (shape->in_w + 2u * shape->padding_w) * shape->in_c};
    for (uint32_t o = 0; o < shape->out_c; o++) {
        for (uint32_t ky = 0; ky < shape->kernel_h; ky += taps.rows) {
            taps.rows = least(rows, shape->kernel_h - ky);
            for (uint32_t j = 0; j < row; j += taps.n) {
                taps.n = least(n, row - j);
                taps.in = scratch + ky * taps.row + j;
                memset(taps.sum, 0, sizeof taps.sum);
                sum_positions(&taps, error + o, shape);
                accumulate(&taps, shift, gradient);
                gradient += taps.rows * taps.n;
            }
        }
    }
}

#endif
