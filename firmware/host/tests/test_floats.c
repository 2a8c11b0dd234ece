#include <math.h>

#include "arith/float32.h"
#include "check.h"
#include "naive.h"

/* Distance in units in the last place of the true value, rounded to binary32. */
static double units(float found, double truth) {
    const float rounded = (float)truth;
    const double unit = (double)nextafterf(fabsf(rounded), INFINITY) - (double)fabsf(rounded);
    return fabs((double)found - truth) / unit;
}

static void check_exp32(float x) {
    const float found = exp32(x), expected = naive_exp32(x);
    CHECK(float32_bits(found) == float32_bits(expected), "exp32(%a) = %a, not %a", (double)x, (double)found,
          (double)expected);
    CHECK(units(found, exp((double)x)) <= 2.0, "exp32(%a) = %a", (double)x, (double)found);
}

static void test_exp32(void) {
    for (int32_t i = 0; i <= 200000; i++) {
        check_exp32(-87.0f * (float)i / 200000.0f);
    }
    for (int32_t exponent = -126; exponent < 6; exponent++) {
        check_exp32(-float32_power_of_two(exponent));
    }
    CHECK(float32_bits(exp32(0.0f)) == float32_bits(1.0f), "exp32(0) is 1");
    CHECK(exp32(-87.0f) > 0.0f && exp32(nextafterf(-87.0f, -INFINITY)) == 0.0f && exp32(-3e38f) == 0.0f, "the far end");
}

static void check_log32(float x) {
    const float found = log32(x), expected = naive_log32(x);
    CHECK(float32_bits(found) == float32_bits(expected), "log32(%a) = %a, not %a", (double)x, (double)found,
          (double)expected);
    CHECK(units(found, log((double)x)) <= 3.0, "log32(%a) = %a", (double)x, (double)found);
}

static void test_log32(void) {
    for (uint32_t i = 0; i < 200000; i++) {
        check_log32(float32_from_bits(float32_bits(1.0f) + i * 400u)); /* 1 .. 512 and beyond */
    }
    for (int32_t k = -126; k <= 127; k++) {
        check_log32(float32_power_of_two(k) * 1.25f);
        check_log32(float32_power_of_two(k) * 1.75f);
    }
    check_log32(0x1.6a09e6p+0f);
    check_log32(0x1.6a09e8p+0f);
    CHECK(float32_bits(log32(1.0f)) == 0, "log32(1) is 0");
}

void test_floats(void) {
    test_exp32();
    test_log32();
}
