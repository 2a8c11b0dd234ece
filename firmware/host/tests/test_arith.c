#include "arith/integers.h"
#include "arith/psto_shift.h"
#include "arith/random.h"
#include "check.h"
#include "naive.h"

/* Both ends of the range, everything around 0, and numbers of every length. */
static int32_t sample_of(int32_t i) {
    return i < 70000   ? i - 35000
           : i < 70100 ? INT32_MAX - (i - 70000)
           : i < 70200 ? INT32_MIN + (i - 70100)
                       : draw(INT32_MIN, INT32_MAX) >> draw(0, 30);
}

enum { SAMPLES = 100000 };

static void test_shifts(void) {
    for (int32_t i = 0; i < SAMPLES; i++) {
        const int32_t x = sample_of(i);
        for (int32_t s = 0; s <= 31; s++) {
            CHECK(psto_shift(x, s) == naive_psto_shift(x, s), "x = %d, s = %d", x, s);
            CHECK(trunc_shift(x, s) == naive_trunc(x, s), "x = %d, s = %d", x, s);
            if (s >= 1 && x > INT32_MIN) {
                CHECK(round_shift(x, s) == naive_round_shift(x, s), "x = %d, s = %d", x, s);
            }
        }
        CHECK(trunc_shift(x, 40) == 0, "x = %d", x);
    }
}

static void test_ranges(void) {
    for (int32_t i = 0; i < SAMPLES; i++) {
        const int32_t x = sample_of(i), y = sample_of(draw(0, SAMPLES));
        CHECK(clip127(x) == naive_clip127(x), "x = %d", x);
        CHECK(add_sat32(x, y) == naive_sat32((int64_t)x + y), "x = %d, y = %d", x, y);
        CHECK(magnitude(x) == llabs((int64_t)x), "x = %d", x);
        CHECK(bits(magnitude(x)) == naive_bits(magnitude(x)), "x = %d", x);
    }
    CHECK(add_sat32(INT32_MAX, 1) == INT32_MAX && add_sat32(INT32_MIN, -1) == INT32_MIN, "saturation");
    CHECK(bits(UINT32_MAX) == 32 && bits(1) == 1 && bits(0) == 0, "bits");
}

/* Values worked out from the published definitions: the finalizer of MurmurHash3, and Marsaglia's generator from 1. */
static void test_generator(void) {
    CHECK(mix32(0) == 0 && mix32(1) == 0x514E28B7u, "mix32(1) = %08x", mix32(1));
    CHECK(xorshift32(1) == 270369 && xorshift32(270369) == 67634689, "xorshift32");
}

/* mix32 is a bijection: the one key that gives state 0 is found by running it backwards. */
static uint32_t inverse_xorshift(uint32_t h, int n) {
    uint32_t x = h;
    for (int i = n; i < 32; i += n) {
        x = h ^ (x >> n);
    }
    return x;
}

static uint32_t inverse_odd(uint32_t a) {
    uint32_t x = a;
    for (int i = 0; i < 5; i++) {
        x *= 2 - a * x;
    }
    return x;
}

static uint32_t inverse_mix32(uint32_t h) {
    h = inverse_xorshift(h, 16) * inverse_odd(0xC2B2AE35u);
    h = inverse_xorshift(h, 13) * inverse_odd(0x85EBCA6Bu);
    return inverse_xorshift(h, 16);
}

static void test_state_is_never_zero(void) {
    CHECK(inverse_mix32(mix32(123456789)) == 123456789, "the inverse");
    const uint32_t key = inverse_mix32(0) ^ 0x27D4EB2Fu; /* of tensor 0 */
    const uint32_t seed = inverse_mix32(key) - 0x9E3779B9u;
    CHECK(tensor_state(seed, 0, 0) == 0x6D2B79F5u, "%08x", tensor_state(seed, 0, 0));
    CHECK(tensor_state(seed, 1, 0) != 0x6D2B79F5u, "another step has another state");
}

void test_arith(void) {
    test_shifts();
    test_ranges();
    test_generator();
    test_state_is_never_zero();
}
