#include <math.h>

#include "arith/float32.h"
#include "check.h"
#include "kernels/losses.h"
#include "naive.h"

static void test_softmax_error(void) {
    for (int round = 0; round < 12000; round++) {
        const uint8_t form = round % 2 == 0 ? LOGIT_ERROR_NITI : LOGIT_ERROR_ZERO_SUM;
        const uint32_t n = (uint32_t)(round % 50 == 0 ? 256 : draw(2, 20)), label = (uint32_t)draw(0, (int32_t)n - 1);
        const int32_t s = draw(0, 4) == 0 ? draw(-100, 100) : draw(-20, 12);
        int8_t *logits = draw_s8(n, round % 3 == 0 ? 3 : 127), *error = take(n), *expected = take(n);
        softmax_error_s8(logits, n, s, label, form == LOGIT_ERROR_ZERO_SUM, error);
        naive_softmax_error(logits, n, s, label, form, expected);
        check_s8(error, expected, n, "softmax_error_s8");
        int32_t sum = 0;
        for (uint32_t j = 0; j < n; j++) {
            sum += error[j];
        }
        const bool cancels = form == LOGIT_ERROR_NITI || sum == 0 || error[label] == -127;
        CHECK(error[label] <= 0 && cancels, "the error of the label is %d, the sum %d", error[label], sum);
        free(logits);
        free(error);
        free(expected);
    }
}

/* A sample that is right beyond doubt has no error at all in NITI's form. */
static void test_a_sure_sample(void) {
    enum { CLASSES = 256 };
    int8_t logits[CLASSES], error[CLASSES], none[CLASSES] = {0};
    for (uint32_t label = 0; label < CLASSES; label += 51) {
        for (uint32_t j = 0; j < CLASSES; j++) {
            logits[j] = j == label ? 127 : -127;
        }
        softmax_error_s8(logits, CLASSES, -2, label, false, error);
        check_s8(error, none, CLASSES, "a sure sample");
        softmax_error_s8(logits, CLASSES, -7, label, false, error);
        CHECK(error[label] < 0, "logits that differ by two are not sure: %d", error[label]);
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

static void check_terms(const int8_t *plus, int32_t plus_exponent, const int8_t *minus, int32_t minus_exponent,
                        uint32_t n, uint32_t label, uint32_t fraction) {
    const logits_t a = {.values = plus, .exponent = plus_exponent}, b = {.values = minus, .exponent = minus_exponent};
    const integer_loss_t found = integer_loss_s8(a, b, n, label, fraction);
    const naive_terms_t expected = naive_integer_loss(plus, plus_exponent, minus, minus_exponent, n, label, fraction);
    CHECK(found.plus == expected.a && found.minus == expected.b,
          "exponents %d and %d, n = %u, fraction %u: %u and %u, not %lld and %lld", plus_exponent, minus_exponent, n,
          fraction, found.plus, found.minus, (long long)expected.a, (long long)expected.b);
    CHECK(integer_loss_log2(found.plus, fraction) == naive_log2(expected.a, fraction), "the logarithm of %u",
          found.plus);
    CHECK(integer_loss_log2(found.minus, fraction) == naive_log2(expected.b, fraction), "the logarithm of %u",
          found.minus);
}

static void test_integer_loss(void) {
    for (int round = 0; round < 14000; round++) {
        const uint32_t n = (uint32_t)(round % 50 == 0 ? 256 : draw(2, 20)), label = (uint32_t)draw(0, (int32_t)n - 1);
        const int32_t s = draw_exponent();
        const uint32_t fraction = (uint32_t)round % 7;
        int8_t *plus = draw_s8(n, round % 3 == 0 ? 3 : 127), *minus = draw_s8(n, round % 5 == 0 ? 2 : 127);
        check_terms(plus, s, minus, draw(0, 1) == 0 ? s : draw_exponent(), n, label, fraction);
        free(plus);
        free(minus);
    }
    /* The largest differences at both ends of the clamp. */
    const int8_t low[] = {127, -127, -127}, high[] = {-127, 127, 127};
    for (uint32_t fraction = 0; fraction <= 6; fraction++) {
        for (int32_t s = -40; s <= 40; s++) {
            check_terms(low, s, high, s, 3, 0, fraction);
            check_terms(low, s, high, -s, 3, 1, fraction);
        }
    }
}

/* Against mathematics: the logarithm is that of the number, cut off to its fraction bits, or by a rounding one unit
   less. */
static void test_integer_loss_log2(void) {
    for (int round = 0; round < 20000; round++) {
        const uint32_t x = (uint32_t)draw(INT32_MIN, INT32_MAX) >> draw(0, 31) | 1u, fraction = (uint32_t)round % 7;
        const double exact = log2((double)x) * (double)(1u << fraction);
        const int32_t found = integer_loss_log2(x, fraction);
        CHECK(found == naive_log2(x, fraction), "the logarithm of %u: %d, fraction %u", x, found, fraction);
        CHECK(found <= exact + 1e-9 && found > exact - 1.0 - 1e-5, "the logarithm of %u: %d, not %f", x, found, exact);
    }
    for (int32_t n = 0; n < 32; n++) {
        CHECK(integer_loss_log2(1u << n, 0) == n && integer_loss_log2(1u << n, 6) == 64 * n, "of a power of two");
    }
}

/* Where nothing falls below the ten powers that are kept, log2(A) - log2(B) with six fraction bits is the difference of
   the losses up to two of their units; without them it is not. */
static void test_fraction_bits_show_small_differences(void) {
    double largest[2] = {0.0, 0.0};
    for (int round = 0; round < 6000; round++) {
        const uint32_t n = (uint32_t)draw(2, 12), label = (uint32_t)draw(0, (int32_t)n - 1);
        int8_t *plus = draw_s8(n, 6), *minus = draw_s8(n, 6); /* powers of 12 * 1.44 / 4 at most */
        const double difference = true_cross_entropy(plus, n, -2, label) - true_cross_entropy(minus, n, -2, label);
        const logits_t a = {.values = plus, .exponent = -2}, b = {.values = minus, .exponent = -2};
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t fraction = 6 * i;
            const integer_loss_t loss = integer_loss_s8(a, b, n, label, fraction);
            const int32_t found = integer_loss_log2(loss.plus, fraction) - integer_loss_log2(loss.minus, fraction);
            const double error = fabs(ldexp(found, -(int)fraction) - difference / log(2.0));
            largest[i] = error > largest[i] ? error : largest[i];
        }
        free(plus);
        free(minus);
    }
    CHECK(largest[0] > 1.0 && largest[1] < 2.0 / 64, "off by %f without, by %f with six bits", largest[0], largest[1]);
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
        const integer_loss_t found = integer_loss_s8(a, b, n, label, 0);
        if (fabs(difference) > 2.0 &&
            fabs(difference) < 5.0) { /* beyond one unit of log2, within the ten bits that are kept */
            CHECK((found.plus > found.minus) == (difference > 0), "%u and %u, losses differ by %g", found.plus,
                  found.minus, difference);
            compared++;
        }
        free(plus);
        free(minus);
    }
    CHECK(compared > 500, "%u pairs compared", compared);
}

void test_loss_kernels(void) {
    test_softmax_error();
    test_a_sure_sample();
    test_cross_entropy();
    test_integer_loss();
    test_integer_loss_log2();
    test_fraction_bits_show_small_differences();
    test_integer_loss_orders();
}
