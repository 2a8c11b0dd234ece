#include <math.h>

#include "arith/exp32.h"
#include "arith/float32.h"
#include "arith/log32.h"
#include "check.h"

/* Distance in units in the last place of the true value, rounded to binary32. */
static double units(float found, double truth) {
    const float rounded = (float)truth;
    const double unit = (double)nextafterf(fabsf(rounded), INFINITY) - (double)fabsf(rounded);
    return fabs((double)found - truth) / unit;
}

static void test_exp32(void) {
    for (int32_t i = 0; i <= 200000; i++) {
        const float x = -87.0f * (float)i / 200000.0f;
        CHECK(units(exp32(x), exp((double)x)) <= 2.0, "exp32(%a) = %a", (double)x, (double)exp32(x));
    }
    for (int32_t exponent = -126; exponent < 6; exponent++) {
        const float x = -float32_power_of_two(exponent);
        CHECK(units(exp32(x), exp((double)x)) <= 2.0, "exp32(%a) = %a", (double)x, (double)exp32(x));
    }
    CHECK(float32_bits(exp32(0.0f)) == float32_bits(1.0f), "exp32(0) is 1");
    CHECK(exp32(-87.0f) > 0.0f && exp32(nextafterf(-87.0f, -INFINITY)) == 0.0f && exp32(-3e38f) == 0.0f, "the far end");
}

static void test_log32(void) {
    for (int32_t i = 0; i < 200000; i++) {
        const float x = float32_from_bits(float32_bits(1.0f) + (uint32_t)i * 400u); /* 1 .. 512 and beyond */
        CHECK(units(log32(x), log((double)x)) <= 2.0, "log32(%a) = %a", (double)x, (double)log32(x));
    }
    for (int32_t k = -126; k <= 127; k++) {
        const float x = float32_power_of_two(k) * 1.25f;
        CHECK(units(log32(x), log((double)x)) <= 2.0, "log32(%a) = %a", (double)x, (double)log32(x));
    }
    CHECK(float32_bits(log32(1.0f)) == 0, "log32(1) is 0");
}

void test_floats(void) {
    test_exp32();
    test_log32();
}
