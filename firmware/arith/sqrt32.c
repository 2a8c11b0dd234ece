#include "arith/float32.h"

#if defined(__ARM_FP) && (__ARM_FP & 4)

float sqrt32(float x) {
    float root;
    __asm__("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x));
    return root;
}

#else

/* floor(sqrt(n)) of n in 2^48..2^50 - 1, bit by bit. */
static uint32_t root_of(uint64_t n) {
    uint64_t rest = n, root = 0;
    for (uint64_t bit = UINT64_C(1) << 48; bit > 0; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint32_t)root;
}

float sqrt32(float x) {
    const uint32_t word = float32_bits(x);
    if (word << 1 == 0) {
        return 0.0f;
    }
    uint32_t mantissa = (word & 0x007FFFFFu) | (word >> 23 != 0 ? 0x00800000u : 0);
    int32_t exponent = (word >> 23 != 0 ? (int32_t)(word >> 23) : 1) - 150; /* x = mantissa * 2^exponent */
    const int32_t zeros = __builtin_clz(mantissa) - 8;
    mantissa <<= zeros;
    exponent -= zeros;
    const int32_t up = (exponent & 1) != 0 ? 25 : 26; /* x = n * 2^(2 j) */
    const int32_t j = (exponent - up) / 2;
    const uint32_t root = root_of((uint64_t)mantissa << up);
    return (float)((root + 1) >> 1) * float32_power_of_two(j + 1);
}

#endif

int32_t float32_to_integer(float x) {
    const float size = x < 0.0f ? -x : x;
    if (size >= 0x1p23f) {
        return (int32_t)x;
    }
    const float sum = size + 0x1p23f; /* has no bits left for a fraction */
    const int32_t whole = (int32_t)(sum - 0x1p23f);
    return x < 0.0f ? -whole : whole;
}

int64_t float32_to_s64(float x) {
    const float size = x < 0.0f ? -x : x;
    if (size < 0x1p24f) {
        return float32_to_integer(x);
    }
    const uint32_t word = float32_bits(size); /* an integer of 24 bits times a power of two */
    const int64_t whole = (int64_t)((word & 0x007FFFFFu) | 0x00800000u) << ((word >> 23) - 150u);
    return x < 0.0f ? -whole : whole;
}

float float32_of_u64(uint64_t x) {
    if (x < UINT64_C(1) << 24) {
        return (float)(uint32_t)x;
    }
    const int32_t cut = 40 - __builtin_clzll(x); /* bits below the 24 that stay */
    uint64_t whole = x >> cut;
    const uint64_t rest = x & ((UINT64_C(1) << cut) - 1), half = UINT64_C(1) << (cut - 1);
    whole += rest > half || (rest == half && (whole & 1) != 0);
    return (float)(uint32_t)whole * float32_power_of_two(cut);
}
