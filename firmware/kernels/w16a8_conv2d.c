#include <stdbool.h>
#include <string.h>

#include "kernels/tflite_windows.h"
#include "kernels/w16a8_sums.h"
#include "kernels/w16a8_widen.h"

enum { VECTORS = 2 /* positions at a time */ };

static uint32_t taps_of(const layer_shape_t *shape) {
    return (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
}

uint64_t w16a8_conv2d_scratch(const layer_shape_t *shape) {
    return VECTORS * sizeof(int16_t) * (uint64_t)w16a8_vector(taps_of(shape));
}

static inline int16_t *repeat_zero(int16_t *out, uint32_t n) {
    if (n > 0) {
        memset(out, 0, n * sizeof *out);
    }
    return out + n;
}

/* The inputs under the window of output (y, x), in the order of the weights; those in the padding are 0. */
static void take_window(const int8_t *in, const layer_shape_t *shape, int8_t zero, uint32_t y, uint32_t x,
                        int16_t *out) {
    const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h),
                 horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
    const uint32_t in_c = shape->in_c, row = shape->kernel_w * in_c, from_row = shape->in_w * in_c;
    const uint32_t before = horizontal.before * in_c, inside = horizontal.inside * in_c;
    const int8_t *from = in + vertical.at * from_row + horizontal.at * in_c;
    out = repeat_zero(out, vertical.before * row);
    for (uint32_t i = 0; i < vertical.inside; i++, from += from_row) {
        out = repeat_zero(out, before);
        w16a8_widen(from, inside, zero, out);
        out = repeat_zero(out + inside, row - before - inside);
    }
    (void)repeat_zero(out, (shape->kernel_h - vertical.before - vertical.inside) * row);
}

static void convolve(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                     int16_t *scratch, int8_t *out) {
    const uint32_t taps = taps_of(shape), positions = (uint32_t)shape->out_h * shape->out_w;
    uint32_t y = 0, x = 0;
    for (uint32_t p = 0; p < positions; p += VECTORS) {
        const uint32_t count = positions - p < VECTORS ? positions - p : VECTORS;
        for (uint32_t i = 0; i < count; i++) {
            take_window(in, shape, layer->input_zero, y, x, scratch + i * w16a8_vector(taps));
            x = x + 1 < shape->out_w ? x + 1 : 0;
            y += x == 0;
        }
        w16a8_rows(scratch, count, weights, taps, shape->out_c, layer, out);
        out += count * shape->out_c;
    }
}

static void combine(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                    int16_t *scratch, int8_t *out) {
    const uint32_t taps = shape->in_c, positions = (uint32_t)shape->out_h * shape->out_w;
    for (uint32_t p = 0; p < positions; p += VECTORS) {
        const uint32_t count = positions - p < VECTORS ? positions - p : VECTORS;
        for (uint32_t i = 0; i < count; i++, in += taps) {
            w16a8_widen(in, taps, layer->input_zero, scratch + i * w16a8_vector(taps));
        }
        w16a8_rows(scratch, count, weights, taps, shape->out_c, layer, out);
        out += count * shape->out_c;
    }
}

/* pointwise reads every value once, as it lies; so does conv2d of one tap, unless it leaves out the last columns. */
void w16a8_conv2d(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                  int16_t *scratch, int8_t *out) {
    const uint32_t window = (uint32_t)shape->kernel_h * shape->kernel_w * shape->stride_h * shape->stride_w;
    const bool in_order = window == 1 && shape->padding_h == 0 && shape->padding_w == 0 && shape->out_w == shape->in_w;
    (in_order ? combine : convolve)(in, weights, shape, layer, scratch, out);
}
