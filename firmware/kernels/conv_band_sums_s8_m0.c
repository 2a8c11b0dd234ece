#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/conv_band_s8.h"
#include "kernels/terms_s8.h"

enum { EVEN = 2 }; /* terms that make a list even and not empty */

uint64_t conv_band_work(const layer_shape_t *shape) {
    return sizeof(term_t) * ((uint64_t)shape->kernel_h * shape->kernel_w * shape->in_c + EVEN);
}

/* The weights of both channels are the list, made once a band, and the windows of the positions are its rows: that
   serves far more rows than there are channels. */
void conv_band_sums(const conv_band_t *band, const int8_t *w0, const int8_t *w1, const band_sums_t *sums) {
    const layer_shape_t *shape = band->shape;
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c, out_w = shape->out_w;
    const patch_t weights = {.bytes = w0, .n = row, .rows = shape->kernel_h, .step = row, .at_step = band->pitch};
    term_t *const terms = band->work;
    const uint32_t n = terms_close(terms, terms_of_pair(terms, &weights, (uint32_t)(w1 - w0)));
    const int8_t *in = band->rows;
    for (uint32_t y = 0; y < band->count; y++) {
        terms_pair_sums(terms, n, in, band->stride * shape->in_c, out_w, sums->to + y * out_w, sums->to_channel);
        in += conv_band_step(shape, band->stride) * band->pitch;
    }
}

#endif
