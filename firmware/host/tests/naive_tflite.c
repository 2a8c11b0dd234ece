#include "naive_tflite.h"

#include "naive.h"

static int64_t floor_of(int64_t x, int64_t y) {
    return x / y - (x % y < 0 ? 1 : 0);
}

int64_t naive_rescale_double(int64_t acc, int64_t multiplier, int64_t shift) {
    const int64_t shifted = naive_sat32(acc * naive_power(shift > 0 ? shift : 0));
    const int64_t a = floor_of(shifted * multiplier + naive_power(30), naive_power(31));
    const int64_t n = shift < 0 ? -shift : 0;
    if (n == 0) {
        return a;
    }
    const int64_t magnitude = ((a < 0 ? -a : a) + naive_power(n - 1)) / naive_power(n);
    return a < 0 ? -magnitude : magnitude;
}

int64_t naive_rescale_single(int64_t acc, int64_t multiplier, int64_t shift) {
    return floor_of(acc * multiplier + naive_power(30 - shift), naive_power(31 - shift));
}

int64_t naive_clamp(int64_t x, int64_t least, int64_t most) {
    const int64_t held = x > least ? x : least;
    return held < most ? held : most;
}

static void tap_products(const layer_shape_t *s, bool depthwise, uint32_t o, uint32_t y, uint32_t x,
                         naive_product_t *visit, void *context) {
    const uint32_t taps = (uint32_t)s->kernel_h * s->kernel_w, seen = depthwise ? 1 : s->in_c;
    for (uint32_t i = 0; i < taps * seen; i++) {
        const uint32_t tap = i / seen, c = depthwise ? o : i % seen;
        const int64_t in_y = (int64_t)y * s->stride_h + tap / s->kernel_w - s->padding_h;
        const int64_t in_x = (int64_t)x * s->stride_w + tap % s->kernel_w - s->padding_w;
        if (in_y >= 0 && in_y < s->in_h && in_x >= 0 && in_x < s->in_w) {
            const uint32_t weight = depthwise ? tap * s->out_c + o : (o * taps + tap) * s->in_c + c;
            visit(context, weight, (uint32_t)((in_y * s->in_w + in_x) * s->in_c + c),
                  (y * s->out_w + x) * s->out_c + o);
        }
    }
}

void naive_products(const layer_shape_t *s, bool depthwise, naive_product_t *visit, void *context) {
    for (uint32_t i = 0; i < shape_outputs(s); i++) {
        tap_products(s, depthwise, i % s->out_c, i / s->out_c / s->out_w, i / s->out_c % s->out_w, visit, context);
    }
}

typedef struct {
    int64_t sum, n, largest;
} pooled_t;

static pooled_t pooled(const int8_t *in, const layer_shape_t *s, uint32_t output) {
    const int64_t c = output % s->out_c, x = output / s->out_c % s->out_w, y = output / s->out_c / s->out_w;
    pooled_t found = {.largest = -1000};
    for (int64_t in_y = 0; in_y < s->in_h; in_y++) {
        for (int64_t in_x = 0; in_x < s->in_w; in_x++) {
            const int64_t ky = in_y - (y * s->stride_h - s->padding_h), kx = in_x - (x * s->stride_w - s->padding_w);
            if (ky >= 0 && ky < s->kernel_h && kx >= 0 && kx < s->kernel_w) {
                const int64_t value = in[(in_y * s->in_w + in_x) * s->in_c + c];
                found.sum += value;
                found.n++;
                found.largest = value > found.largest ? value : found.largest;
            }
        }
    }
    return found;
}

void naive_tflite_max_pool(const int8_t *in, const layer_shape_t *s, int64_t act_min, int64_t act_max, int8_t *out) {
    for (uint32_t i = 0; i < shape_outputs(s); i++) {
        out[i] = (int8_t)naive_clamp(pooled(in, s, i).largest, act_min, act_max);
    }
}

void naive_tflite_average_pool(const int8_t *in, const layer_shape_t *s, int64_t act_min, int64_t act_max,
                               int8_t *out) {
    for (uint32_t i = 0; i < shape_outputs(s); i++) {
        const pooled_t found = pooled(in, s, i);
        const int64_t magnitude = ((found.sum < 0 ? -found.sum : found.sum) + found.n / 2) / found.n;
        out[i] = (int8_t)naive_clamp(found.sum < 0 ? -magnitude : magnitude, act_min, act_max);
    }
}
