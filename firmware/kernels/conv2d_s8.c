#include "kernels/thumb1.h"

#if !KERNELS_THUMB1 /* else conv2d_s8_m0.c */

#include "kernels/conv_band_s8.h"
#include "kernels/convolution.h"

enum { SLACK = 64 };

/* Two channels at a time; an odd last one is computed twice. */
static void sum_band(const conv_band_t *band, const int8_t *weights, int32_t *acc) {
    const layer_shape_t *shape = band->shape;
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c, out_c = shape->out_c;
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
