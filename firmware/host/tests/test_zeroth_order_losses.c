#include <math.h>
#include <string.h>

#include "arith/float32.h"
#include "check.h"
#include "kernels/elementwise.h"
#include "kernels/losses.h"
#include "kernels/requantize.h"
#include "naive.h"
#include "naive_zeroth_order.h"

enum { ROUNDS = 2000 };

static float draw_scale(void) {
    return (float)ldexp(1.0 + draw(0, (1 << 23) - 1) * 0x1p-23, draw(0, 4) == 0 ? draw(-40, 39) : draw(-9, 0));
}

static void test_cross_entropy(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t n = (uint32_t)(round % 50 == 0 ? 256 : draw(2, 20)), label = (uint32_t)draw(0, (int32_t)n - 1);
        const float scale = draw_scale();
        int8_t *logits = take(n);
        int32_t largest = -128;
        double truth = 0.0;
        for (uint32_t j = 0; j < n; j++) {
            logits[j] = (int8_t)draw(-128, 127);
            largest = logits[j] > largest ? logits[j] : largest;
        }
        float sum = 0.0f;
        for (uint32_t j = 0; j < n; j++) {
            sum += naive_exp32((float)(logits[j] - largest) * scale);
            truth += exp((double)scale * (logits[j] - largest));
        }
        const float expected = naive_log32(sum) + (float)(largest - logits[label]) * scale;
        const float loss = cross_entropy_scaled_f32(logits, n, scale, label);
        CHECK(float32_bits(loss) == float32_bits(expected), "scale %a: %a, not %a", (double)scale, (double)loss,
              (double)expected);
        const double exact = log(truth) + (double)scale * (largest - logits[label]);
        CHECK(fabs((double)loss - exact) <= 4e-6 * (exact + 1.0), "scale %a: %.9g, not %.9g", (double)scale,
              (double)loss, exact);
        const int32_t s = draw(-60, 10);
        const float power = cross_entropy_scaled_f32(logits, n, float32_power_of_two(s), label);
        CHECK(float32_bits(power) == float32_bits(cross_entropy_f32(logits, n, s, label)), "exponent %d", s);
        free(logits);
    }
}

static tflite_operand_t draw_operand(void) {
    static const int32_t multipliers[] = {1 << 30, (1 << 30) + 1, 3 << 29, 0x55555555, INT32_MAX};
    return (tflite_operand_t){.multiplier = draw(0, 1) == 0 ? multipliers[draw(0, 4)] : draw(1 << 30, INT32_MAX),
                              .shift = (int8_t)(draw(0, 3) == 0 ? draw(-31, 0) : draw(-4, 0)),
                              .zero = (int8_t)(draw(0, 2) == 0 ? 127 - 255 * draw(0, 1) : draw(-128, 127))};
}

static int64_t naive_term(int32_t q, const tflite_operand_t *operand, bool single) {
    return naive_rescale((int64_t)(q - operand->zero) * (1 << 20), operand->multiplier, operand->shift, single);
}

/* All pairs of inputs where `n` is 2^16, in place of the first input, of the second, and beside them. */
static void check_add(const tflite_add_t *add, uint32_t n) {
    int8_t *a = take(n), *b = take(n), *out = take(n), *expected = take(n);
    for (uint32_t i = 0; i < n; i++) {
        a[i] = (int8_t)(n == 65536 ? (int32_t)(i >> 8) - 128 : draw(-128, 127));
        b[i] = (int8_t)(n == 65536 ? (int32_t)(i & 255) - 128 : draw(-128, 127));
        const int64_t sum = naive_term(a[i], &add->a, add->single) + naive_term(b[i], &add->b, add->single);
        int64_t value = add->out.zero + naive_rescale(sum, add->out.multiplier, add->out.shift, add->single);
        value = value > add->act_max ? add->act_max : value;
        expected[i] = (int8_t)(value < add->act_min ? add->act_min : value);
    }
    tflite_add_s8(a, b, n, add, out);
    check_s8(out, expected, n, "tflite_add_s8");
    memcpy(out, a, n);
    tflite_add_s8(out, b, n, add, out);
    check_s8(out, expected, n, "tflite_add_s8 over a");
    tflite_add_s8(a, b, n, add, b);
    check_s8(b, expected, n, "tflite_add_s8 over b");
    free(a);
    free(b);
    free(out);
    free(expected);
}

static void test_add(void) {
    for (int round = 0; round < ROUNDS; round++) {
        tflite_add_t add = {.a = draw_operand(), .b = draw_operand(), .out = draw_operand(), .single = round % 2 == 0};
        add.act_min = (int8_t)(draw(0, 1) == 0 ? -128 : draw(-128, 127));
        add.act_max = (int8_t)(draw(0, 1) == 0 ? 127 : draw(add.act_min, 127));
        if (draw(0, 3) != 0) { /* as a network has it: the shift of the output takes the 2^20 back */
            add.out.shift = (int8_t)draw(-21, -17);
        }
        check_add(&add, round < 40 ? 65536 : (uint32_t)draw(0, 40));
    }
}

/* As from the weights themselves, in both layouts. */
static void test_fold(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t channels = (uint32_t)draw(1, 9), taps = (uint32_t)(round % 40 == 0 ? 1500 : draw(1, 70));
        const bool depthwise = round % 2 == 0;
        int8_t *weights = draw_s8(channels * taps, 127);
        const int8_t zero = (int8_t)draw(-128, 127);
        int32_t bias[9], sums[9] = {0}, expected[9];
        for (uint32_t i = 0; i < channels * taps; i++) {
            sums[depthwise ? i % channels : i / taps] += weights[i];
        }
        for (uint32_t o = 0; o < channels; o++) {
            bias[o] = draw(-(1 << 30), 1 << 30);
            expected[o] = (int32_t)((int64_t)bias[o] - (int64_t)zero * sums[o]);
        }
        int32_t folded[9];
        tflite_fold_bias(bias, weights, taps, depthwise ? channels : 1, channels, depthwise ? 1 : taps, zero, folded);
        check_s32(folded, expected, channels, "tflite_fold_bias");
        tflite_fold_bias_sums(bias, sums, zero, channels, bias);
        check_s32(bias, expected, channels, "tflite_fold_bias_sums");
        free(weights);
    }
}

void test_zeroth_order_losses(void) {
    test_cross_entropy();
    test_add();
    test_fold();
}
