/* Kernels of back-propagation through a graph, each beside the text of docs/arithmetic-tflite.md in wide integers or
   double precision. */
#include <math.h>

#include "check.h"
#include "kernels/layer_errors.h"
#include "kernels/losses.h"
#include "kernels/pooling.h"
#include "tflite_drawn.h"

enum { ROUNDS = 3000, CHANNELS = 6 };

static int64_t size_of(int64_t x) {
    return x < 0 ? -x : x;
}

/* x / 2^n, towards zero; the text gives 0 from 31 on. */
static int64_t truncated(int64_t x, int32_t n) {
    return n >= 31 ? 0 : x / (INT64_C(1) << n);
}

/* RoundShift, of exact halves away from zero. */
static int64_t rounded(int64_t x, int32_t s) {
    const int64_t unit = INT64_C(1) << s, magnitude = (2 * size_of(x) + unit) / (2 * unit),
                  clipped = magnitude > 127 ? 127 : magnitude;
    return x < 0 ? -clipped : clipped;
}

static void test_merge(void) {
    for (int round = 0; round < 10 * ROUNDS; round++) {
        const uint32_t n = (uint32_t)draw(1, 40);
        const int32_t bound = draw(0, 2) == 0 ? draw(0, 3) : 127;
        int8_t *error = draw_s8(n, bound), *other = draw_s8(n, draw(0, 127)), *expected = take(n);
        const int32_t x = draw(-20, 400), exponent = x - 15 + (draw(0, 2) == 0 ? draw(-40, 40) : draw(-6, 6));
        const merged_t merged = {
            .error = other, .m = draw(0, 2) == 0 ? 1 << 15 : draw(1 << 15, (1 << 16) - 1), .exponent = exponent};
        const int32_t unit = x - 15 > exponent ? x - 15 : exponent;
        int64_t sums[40], largest = 0;
        for (uint32_t i = 0; i < n; i++) {
            sums[i] = truncated(error[i] * INT64_C(32768), unit - x + 15) +
                      truncated((int64_t)other[i] * merged.m, unit - exponent);
            largest = size_of(sums[i]) > largest ? size_of(sums[i]) : largest;
        }
        int32_t s = 0;
        while (largest >> s > 127) {
            s++;
        }
        for (uint32_t i = 0; i < n; i++) {
            expected[i] = (int8_t)(s > 0 ? rounded(sums[i], s) : sums[i]);
        }
        CHECK(merge_errors_s8(error, n, x, &merged) == unit + s, "round %d: the exponent of the sum", round);
        check_s8(error, expected, n, "merge_errors_s8");
        free(error);
        free(other);
        free(expected);
    }
}

/* M * 2^(shift + 31), an integer. */
static __int128 scaled(int32_t multiplier, int32_t shift) {
    return (__int128)multiplier << (shift + 31);
}

static void test_level(void) {
    for (int round = 0; round < 3 * ROUNDS; round++) {
        const uint32_t channels = (uint32_t)draw(1, CHANNELS), positions = (uint32_t)draw(1, 9),
                       n = channels * positions;
        const int32_t spread = draw(0, 3) == 0 ? 30 : draw(0, 2);
        int32_t multiplier[CHANNELS];
        int8_t shift[CHANNELS];
        for (uint32_t o = 0; o < channels; o++) {
            const int32_t kind = draw(0, 3);
            multiplier[o] = kind == 0   ? 1 << 30
                            : kind == 1 ? 3 << 29
                            : kind == 2 ? INT32_MAX - draw(0, 100)
                                        : draw(1 << 30, INT32_MAX);
            shift[o] = (int8_t)(draw(-spread, spread) - (spread == 30 && draw(0, 9) == 0));
        }
        uint32_t largest = 0;
        for (uint32_t o = 1; o < channels; o++) {
            const double r = ldexp((double)(float)multiplier[o], shift[o]);
            const double before = ldexp((double)(float)multiplier[largest], shift[largest]);
            largest = r > before ? o : largest;
        }
        CHECK(largest_channel(multiplier, shift, channels) == largest, "round %d: the largest channel", round);
        int8_t *error = draw_s8(n, 127), *found = take(n), *expected = take(n);
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t o = i % channels;
            const int64_t k =
                (int64_t)((scaled(multiplier[o], shift[o]) << 15) / scaled(multiplier[largest], shift[largest]));
            const int64_t size = (size_of(error[i]) * k + (1 << 14)) / (1 << 15);
            expected[i] = (int8_t)(error[i] < 0 ? -size : size);
        }
        level_errors_s8(error, positions, channels, multiplier, shift, largest, found);
        check_s8(found, expected, n, "level_errors_s8");
        level_errors_s8(error, positions, channels, multiplier, shift, largest, error);
        check_s8(error, expected, n, "level_errors_s8 in place");
        free(error);
        free(found);
        free(expected);
    }
}

static void test_cross_entropy_error(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t n = (uint32_t)draw(2, 256), label = (uint32_t)draw(0, (int32_t)n - 1);
        int8_t *logits = draw_bytes(n), *error = take(n);
        const float scale = (float)ldexp(1.0, draw(-9, 1));
        double sum = 0;
        int32_t largest = -128;
        for (uint32_t j = 0; j < n; j++) {
            largest = logits[j] > largest ? logits[j] : largest;
        }
        for (uint32_t j = 0; j < n; j++) {
            sum += exp((logits[j] - largest) * (double)scale);
        }
        cross_entropy_error_s8(logits, n, scale, label, error);
        for (uint32_t j = 0; j < n; j++) {
            const double exact = 127 * (exp((logits[j] - largest) * (double)scale) / sum - (j == label));
            CHECK(fabs(error[j] - exact) < 0.501, "round %d, logit %u: %d, not %f", round, j, error[j], exact);
        }
        free(logits);
        free(error);
    }
}

/* Any window of a pool that lies apart from the next one, and within the image. */
static layer_shape_t draw_pool(void) {
    layer_shape_t shape = {.in_c = (uint16_t)draw(1, 5),
                           .out_h = (uint16_t)draw(1, 4),
                           .out_w = (uint16_t)draw(1, 4),
                           .kernel_h = (uint8_t)draw(1, 4),
                           .kernel_w = (uint8_t)draw(1, 4)};
    shape.out_c = shape.in_c;
    shape.stride_h = (uint8_t)(shape.out_h == 1 ? draw(1, 4) : shape.kernel_h + draw(0, 2));
    shape.stride_w = (uint8_t)(shape.out_w == 1 ? draw(1, 4) : shape.kernel_w + draw(0, 2));
    shape.in_h = (uint16_t)((shape.out_h - 1) * shape.stride_h + shape.kernel_h + draw(0, 2));
    shape.in_w = (uint16_t)((shape.out_w - 1) * shape.stride_w + shape.kernel_w + draw(0, 2));
    return shape;
}

/* The window that sees a position along one axis; -1: none. */
static int32_t window_of(uint32_t at, uint32_t outputs, uint32_t stride, uint32_t kernel) {
    const uint32_t window = outputs == 1 ? 0 : at / stride;
    return window < outputs && at - window * stride < kernel ? (int32_t)window : -1;
}

typedef struct {
    const layer_shape_t *shape;
    const int8_t *in, *error;
} pool_t;

/* Whether a position of a window is the first that has its largest value. */
static bool is_first_maximum(const pool_t *pool, uint32_t y, uint32_t x, uint32_t c, uint32_t top, uint32_t left) {
    const layer_shape_t *shape = pool->shape;
    const int8_t value = pool->in[(y * shape->in_w + x) * shape->in_c + c];
    for (uint32_t v = top; v < top + shape->kernel_h; v++) {
        for (uint32_t u = left; u < left + shape->kernel_w; u++) {
            const int8_t other = pool->in[(v * shape->in_w + u) * shape->in_c + c];
            const bool before = v < y || (v == y && u < x);
            if (other > value || (before && other == value)) {
                return false;
            }
        }
    }
    return true;
}

static int8_t pooled_error(const pool_t *pool, uint32_t i, bool max) {
    const layer_shape_t *shape = pool->shape;
    const uint32_t c = i % shape->in_c, x = i / shape->in_c % shape->in_w, y = i / shape->in_c / shape->in_w;
    const int32_t down = window_of(y, shape->out_h, shape->stride_h, shape->kernel_h);
    const int32_t right = window_of(x, shape->out_w, shape->stride_w, shape->kernel_w);
    if (down < 0 || right < 0) {
        return 0;
    }
    const uint32_t top = (uint32_t)down * shape->stride_h, left = (uint32_t)right * shape->stride_w;
    const int8_t error = pool->error[((uint32_t)down * shape->out_w + (uint32_t)right) * shape->in_c + c];
    return !max || is_first_maximum(pool, y, x, c, top, left) ? error : 0;
}

static void test_pools(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t shape = draw_pool();
        const uint32_t inputs = shape_inputs(&shape);
        int8_t *in = draw_s8(inputs, draw(0, 1) == 0 ? 2 : 127), *error = draw_s8(shape_outputs(&shape), 127);
        int8_t *found = take(inputs), *expected = take(inputs);
        const pool_t pool = {.shape = &shape, .in = in, .error = error};
        for (uint32_t i = 0; i < inputs; i++) {
            expected[i] = pooled_error(&pool, i, true);
        }
        max_pool_error_s8(in, error, &shape, 0, found);
        check_s8(found, expected, inputs, "max_pool_error_s8");
        for (uint32_t i = 0; i < inputs; i++) {
            expected[i] = pooled_error(&pool, i, false);
        }
        average_pool_error_s8(error, &shape, 0, found);
        check_s8(found, expected, inputs, "average_pool_error_s8");
        free(in);
        free(error);
        free(found);
        free(expected);
    }
}

void test_error_kernels(void) {
    test_merge();
    test_level();
    test_cross_entropy_error();
    test_pools();
}
