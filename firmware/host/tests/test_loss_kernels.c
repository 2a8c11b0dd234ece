#include <math.h>

#include "arith/float32.h"
#include "check.h"
#include "kernels/cross_entropy_f32.h"
#include "kernels/integer_loss_s8.h"
#include "kernels/softmax_error_s8.h"
#include "naive.h"

static void test_softmax_error(void) {
    for (int round = 0; round < 6000; round++) {
        const uint32_t n = (uint32_t)(round % 50 == 0 ? 256 : draw(2, 20)), label = (uint32_t)draw(0, (int32_t)n - 1);
        const int32_t s = draw(0, 4) == 0 ? draw(-100, 100) : draw(-20, 12);
        int8_t *logits = draw_s8(n, round % 3 == 0 ? 3 : 127), *error = take(n), *expected = take(n);
        softmax_error_s8(logits, n, s, label, error);
        naive_softmax_error(logits, n, s, label, expected);
        check_s8(error, expected, n, "softmax_error_s8");
        int32_t sum = 0;
        for (uint32_t j = 0; j < n; j++) {
            sum += error[j];
        }
        CHECK(error[label] <= 0 && (sum == 0 || error[label] == -127), "the error of the label is %d, the sum %d", error[label], sum);
        free(logits);
        free(error);
        free(expected);
    }
}

/* The text again, operation by operation, with a scale that the C library makes. */
static float naive_cross_entropy(const int8_t *logits, uint32_t n, int32_t s, uint32_t label) {
    const float scale = ldexpf(1.0f, s < -60 ? -60 : s > 60 ? 60 : s);
    int maximum = -128;
    for (uint32_t j = 0; j < n; j++) {
        maximum = logits[j] > maximum ? logits[j] : maximum;
    }
    float sum = 0.0f;
    for (uint32_t j = 0; j < n; j++) {
        sum += naive_exp32((float)(logits[j] - maximum) * scale);
    }
    return naive_log32(sum) + (float)(maximum - logits[label]) * scale;
}

static double true_cross_entropy(const int8_t *logits, uint32_t n, int32_t s, uint32_t label) {
    double sum = 0.0;
    for (uint32_t j = 0; j < n; j++) {
        sum += exp(ldexp(logits[j] - logits[label], s));
    }
    return log(sum);
}

static void test_cross_entropy(void) {
    for (int round = 0; round < 6000; round++) {
        const uint32_t n = (uint32_t)draw(2, 40), label = (uint32_t)draw(0, (int32_t)n - 1);
        const int32_t s = draw(0, 4) == 0 ? draw(-100, 100) : draw(-12, 1);
        int8_t *logits = draw_s8(n, 127);
        const float loss = cross_entropy_f32(logits, n, s, label);
        const float expected = naive_cross_entropy(logits, n, s, label);
        CHECK(float32_bits(loss) == float32_bits(expected), "%a, not %a", (double)loss, (double)expected);
        if (s <= 1 && s >= -60) {
            const double truth = true_cross_entropy(logits, n, s, label);
            CHECK(fabs((double)loss - truth) <= 2e-6 * (fabs(truth) + 1.0), "%.9g, not %.9g", (double)loss, truth);
        }
        free(logits);
    }
}

static int32_t draw_exponent(void) {
    return draw(0, 4) == 0 ? draw(-100, 100) : draw(-18, 17);
}

static void check_terms(const int8_t *plus, int32_t plus_exponent, const int8_t *minus, int32_t minus_exponent, uint32_t n,
                        uint32_t label) {
    const logits_t a = {.values = plus, .exponent = plus_exponent}, b = {.values = minus, .exponent = minus_exponent};
    const integer_loss_t found = integer_loss_s8(a, b, n, label);
    const naive_terms_t expected = naive_integer_loss(plus, plus_exponent, minus, minus_exponent, n, label);
    CHECK(found.plus == expected.a && found.minus == expected.b, "exponents %d and %d, n = %u: %u and %u, not %lld and %lld",
          plus_exponent, minus_exponent, n, found.plus, found.minus, (long long)expected.a, (long long)expected.b);
}

static void test_integer_loss(void) {
    for (int round = 0; round < 6000; round++) {
        const uint32_t n = (uint32_t)(round % 50 == 0 ? 256 : draw(2, 20)), label = (uint32_t)draw(0, (int32_t)n - 1);
        const int32_t s = draw_exponent();
        int8_t *plus = draw_s8(n, round % 3 == 0 ? 3 : 127), *minus = draw_s8(n, round % 5 == 0 ? 2 : 127);
        check_terms(plus, s, minus, draw(0, 1) == 0 ? s : draw_exponent(), n, label);
        free(plus);
        free(minus);
    }
    /* The largest differences at both ends of the clamp. */
    const int8_t low[] = {127, -127, -127}, high[] = {-127, 127, 127};
    for (int32_t s = -40; s <= 40; s++) {
        check_terms(low, s, high, s, 3, 0);
        check_terms(low, s, high, -s, 3, 1);
    }
}

/* Where rounding cannot matter, the integer terms order two passes as the losses themselves do. */
static void test_integer_loss_orders(void) {
    uint32_t compared = 0;
    for (int round = 0; round < 6000; round++) {
        const uint32_t n = (uint32_t)draw(2, 12), label = (uint32_t)draw(0, (int32_t)n - 1);
        const int32_t s = draw(-6, -2);
        int8_t *plus = draw_s8(n, 127), *minus = draw_s8(n, 127);
        const double difference = true_cross_entropy(plus, n, s, label) - true_cross_entropy(minus, n, s, label);
        const logits_t a = {.values = plus, .exponent = s}, b = {.values = minus, .exponent = s};
        const integer_loss_t found = integer_loss_s8(a, b, n, label);
        if (fabs(difference) > 2.0 && fabs(difference) < 5.0) { /* beyond one unit of log2, within the ten bits that are kept */
            CHECK((found.plus > found.minus) == (difference > 0), "%u and %u, losses differ by %g", found.plus, found.minus,
                  difference);
            compared++;
        }
        free(plus);
        free(minus);
    }
    CHECK(compared > 500, "%u pairs compared", compared);
}

void test_loss_kernels(void) {
    test_softmax_error();
    test_cross_entropy();
    test_integer_loss();
    test_integer_loss_orders();
}
