/* conv2d of the format bfp8, forward: docs/arithmetic.md, section 4. */
#include "kernels/convolution.h"

#include <stdbool.h>

#include "kernels/conv_band_s8.h"
#include "kernels/core.h"
#include "kernels/terms_s8.h"
#include "kernels/windows.h"

enum {
    SLACK = 64, /* room for a kernel to read beyond the last row */
    TERM = 8,   /* bytes of a term of the form for Armv6-M */
};

static uint64_t greatest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* One formula for all cores, so that the host plans for any of them. The portable kernel needs the padded input; the
   DSP form needs the kernel's rows of it, or more, in int16 and the weights of two channels in int16; the form
   for Armv6-M a term for every tap of a window and two more. */
SEPARATE uint64_t conv2d_s8_scratch(const layer_shape_t *shape) {
    const uint64_t height = greatest(shape->in_h + 2u * shape->padding_h, 2u * shape->kernel_h);
    const uint64_t width = shape->in_w + 2u * shape->padding_w;
    const uint64_t weights = 4ull * shape->kernel_h * (shape->kernel_w * shape->in_c + 1u);
    const uint64_t terms = TERM * ((uint64_t)shape->kernel_h * shape->kernel_w * shape->in_c + 2u);
    return greatest(height * width * shape->in_c + SLACK + weights, terms);
}

#if KERNELS_THUMB1

/* The inputs of row `y` of the outputs: what is under the window of a position. */
typedef struct {
    const int8_t *in;
    const layer_shape_t *shape;
    inside_t vertical;
} band_t;

/* The inputs under the taps first..end-1 of each row of the window at `x`. */
static patch_t patch_at(const band_t *band, uint32_t x, uint32_t first, uint32_t end) {
    const layer_shape_t *shape = band->shape;
    const uint32_t in_c = shape->in_c;
    const uint32_t in_x = x + first - shape->padding_w;
    return (patch_t){.bytes = band->in + (band->vertical.input * shape->in_w + in_x) * in_c,
                     .n = (end - first) * in_c,
                     .rows = band->vertical.end - band->vertical.first,
                     .step = shape->in_w * in_c,
                     .at = (band->vertical.first * shape->kernel_w + first) * in_c,
                     .at_step = shape->kernel_w * in_c};
}

/* The terms of the positions `x` and `x` + 1: taps that lie inside the input for the second only, for both, for the
   first only. */
static term_t *gather_pair(const band_t *band, uint32_t x, term_t *end) {
    const layer_shape_t *shape = band->shape;
    const inside_t a = taps_inside(x, shape->kernel_w, shape->padding_w, shape->in_w);
    const inside_t b = taps_inside(x + 1, shape->kernel_w, shape->padding_w, shape->in_w);
    if (b.first < a.first) {
        const patch_t second = patch_at(band, x + 1, b.first, a.first);
        end = terms_of_patch(end, &second, 16);
    }
    if (a.first < b.end) {
        const patch_t both = patch_at(band, x, a.first, b.end);
        end = terms_of_pair(end, &both, shape->in_c);
    }
    if (b.end < a.end) {
        const patch_t first = patch_at(band, x, b.end, a.end);
        end = terms_of_patch(end, &first, 0);
    }
    return end;
}

/* An odd last position is the first of a pair without a second. */
static term_t *gather_last(const band_t *band, uint32_t x, term_t *end) {
    const layer_shape_t *shape = band->shape;
    const inside_t a = taps_inside(x, shape->kernel_w, shape->padding_w, shape->in_w);
    const patch_t only = patch_at(band, x, a.first, a.end);
    return terms_of_patch(end, &only, 0);
}

/* One row of the outputs. Where both windows of a pair lie inside the input from side to side, the patches under them
   are alike. */
static void sum_row(const band_t *band, const int8_t *weights, term_t *terms, int32_t *acc) {
    const layer_shape_t *shape = band->shape;
    const uint32_t out_w = shape->out_w, out_c = shape->out_c, in_c = shape->in_c;
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * in_c;
    const uint32_t first_inside = shape->padding_w,
                   behind_inside = shape->in_w + shape->padding_w + 1u - shape->kernel_w;
    patch_t inside = patch_at(band, first_inside, 0, shape->kernel_w);
    const int8_t *const row = inside.bytes;
    for (uint32_t x = 0; x < out_w; x += 2) {
        const bool pair = x + 1 < out_w;
        term_t *end;
        if (x >= first_inside && x + 1 < behind_inside) {
            inside.bytes = row + (x - first_inside) * in_c;
            end = terms_of_pair(terms, &inside, in_c);
        } else {
            end = pair ? gather_pair(band, x, terms) : gather_last(band, x, terms);
        }
        terms_pair_sums(terms, terms_close(terms, end), weights, taps, out_c, acc, pair ? out_c : 0);
        acc += pair ? 2 * out_c : out_c;
    }
}

void conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const band_t band = {
            .in = in, .shape = shape, .vertical = taps_inside(y, shape->kernel_h, shape->padding_h, shape->in_h)};
        sum_row(&band, weights, (term_t *)(void *)scratch, acc);
        acc += (uint32_t)shape->out_w * shape->out_c;
    }
}

#else

/* Two channels at a time; an odd last one is computed twice. */
static void sum_band(const conv_band_t *band, const int8_t *weights, int32_t *acc) {
    const layer_shape_t *shape = band->shape;
    const uint32_t taps = shape_taps(shape), out_c = shape->out_c;
    for (uint32_t o = 0; o < out_c; o += 2) {
        const uint32_t to_second = o + 1 < out_c ? 1 : 0;
        const band_sums_t sums = {.to = acc + o, .to_channel = to_second, .to_position = out_c};
        conv_band_sums(band, weights + o * taps, weights + (o + to_second) * taps, &sums);
    }
}

void conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    const uint32_t work = (uint32_t)conv_band_work(shape), pitch = conv_band_width(shape, 1);
    conv_band_t band = {.shape = shape, .in = in, .stride_h = 1, .stride_w = 1, .pitch = pitch, .work = scratch};
    band.rows = (band_value_t *)(void *)(scratch + work);
    const uint32_t rows = ((uint32_t)conv2d_s8_scratch(shape) - SLACK - work) / (pitch * (uint32_t)sizeof *band.rows);
    const uint32_t most = rows - shape->kernel_h + 1; /* there is room for the kernel's rows at least */
    for (; band.y < shape->out_h; band.y += band.count) {
        const uint32_t left = shape->out_h - band.y;
        band.count = most < left ? most : left;
        conv_band_fill(&band);
        sum_band(&band, weights, acc);
        acc += band.count * shape->out_w * shape->out_c;
    }
}

#endif
