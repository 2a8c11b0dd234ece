#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include <stdbool.h>
#include <stddef.h>

#include "kernels/conv_band_s8.h"
#include "kernels/terms_s8.h"

enum { EVEN = 2 }; /* terms that make a list even and not empty */

uint64_t conv_band_work(const layer_shape_t *shape) {
    return sizeof(term_t) * ((uint64_t)shape->kernel_h * shape->kernel_w * shape->in_c + EVEN);
}

/* The sum of the inputs under a window: `rows` runs of `n`, at least one, `pitch` bytes apart. */
static inline int32_t window_sum(const int8_t *in, uint32_t rows, uint32_t n, uint32_t pitch) {
    int32_t sum = 0;
    for (; rows > 0; rows--, in += pitch) {
        const int8_t *x = in, *const fours = in + n / 4 * 4, *const end = in + n;
        for (; x != fours; x += 4) {
            sum += x[0] + x[1] + x[2] + x[3];
        }
        while (x != end) {
            sum += *x++;
        }
    }
    return sum;
}

/* What the sum gains from one window to the next: `step` columns of `rows` inputs, less those it leaves, `n` before. */
static inline int32_t next_less_first(const int8_t *in, uint32_t rows, uint32_t n, uint32_t pitch, uint32_t step) {
    const uint32_t end = rows * pitch;
    int32_t sum = 0;
    for (const int8_t *const last = in + step; in != last; in++) {
        const int8_t *const next = in + n;
        for (uint32_t i = 0; i != end; i += pitch) {
            sum += next[i] - in[i];
        }
    }
    return sum;
}

/* Products with weights of -127..128 fit in the halves of a word, two at a time; those with weights less their zero
   point do not. So one is added to the weights, and what then is too much, the same for all channels, the sums begin
   with. */
void conv_band_start(const conv_band_t *band) {
    if (band->starts == NULL) {
        return;
    }
    const layer_shape_t *shape = band->shape;
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c, step = band->stride_w * shape->in_c,
                   kernel_h = shape->kernel_h, pitch = band->pitch;
    const bool overlap = 2 * step < row;
    const int32_t factor = -1 - band->weight_zero;
    const int8_t *in = band->rows;
    int32_t *start = band->starts;
    for (uint32_t y = 0; y < band->count; y++) {
        int32_t sum = window_sum(in, kernel_h, row, pitch);
        *start++ = factor * sum;
        const int8_t *window = in;
        for (int32_t *const end = start + shape->out_w - 1; start != end; window += step) {
            sum = overlap ? sum + next_less_first(window, kernel_h, row, pitch, step)
                          : window_sum(window + step, kernel_h, row, pitch);
            *start++ = factor * sum;
        }
        in += conv_band_step(shape, band->stride_h) * pitch;
    }
}

/* The weights of both channels are the list, made once a band, and the windows of the positions are its rows: that
   serves far more rows than there are channels. */
void conv_band_sums(const conv_band_t *band, const int8_t *w0, const int8_t *w1, const band_sums_t *sums) {
    const layer_shape_t *shape = band->shape;
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c, out_w = shape->out_w,
                   step = band->stride_w * shape->in_c;
    const patch_t weights = {.bytes = w0, .n = row, .rows = shape->kernel_h, .step = row, .at_step = band->pitch};
    term_t *const terms = band->work;
    uint32_t low = 0;
    term_t *const end = band->starts == NULL ? terms_of_pair(terms, &weights, (uint32_t)(w1 - w0))
                                             : terms_of_pair_and_one(terms, &weights, (uint32_t)(w1 - w0), &low);
    const uint32_t n = terms_close(terms, end);
    const int8_t *in = band->rows;
    const int32_t *starts = band->starts;
    for (uint32_t y = 0; y < band->count; y++) {
        int32_t *const to = sums->to + y * out_w;
        if (starts == NULL) {
            terms_pair_sums(terms, n, in, step, out_w, to, sums->to_channel);
        } else {
            (low != 0 ? terms_pair_sums_raised : terms_pair_sums_from)(terms, n, in, step, out_w, to, sums->to_channel,
                                                                       starts + y * out_w);
        }
        in += conv_band_step(shape, band->stride_h) * band->pitch;
    }
}

#endif
