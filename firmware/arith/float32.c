#include "arith/float32.h"

#define SQRT2 0x1.6a09e6p+0f

/* Horner's scheme of c[0] + c[1] x + .. + c[n] x^n, each product and each sum rounded. */
static inline float polynomial(const float *c, int n, float x) {
    float p = c[n];
    for (int i = n - 1; i >= 0; i--) {
        const float product = p * x;
        p = product + c[i];
    }
    return p;
}

float exp32(float x) {
    static const float c[8] = {0x1p+0f,        0x1p+0f,        0x1p-1f,         0x1.555556p-3f,
                               0x1.555556p-5f, 0x1.111112p-7f, 0x1.6c16c2p-10f, 0x1.a01a02p-13f}; /* 1 / i! */
    if (x < -87.0f) {
        return 0.0f;
    }
    const float k = float32_round(x * 0x1.715476p+0f);
    const float high = k * 0x1.62e400p-1f;
    const float low = k * 0x1.7f7d1cp-20f;
    const float r = (x - high) - low;
    return polynomial(c, 7, r) * float32_power_of_two((int32_t)k);
}

float log32(float x) {
    static const float d[5] = {0x1p+0f, 0x1.555556p-2f, 0x1.99999ap-3f, 0x1.24924ap-3f,
                               0x1.c71c72p-4f}; /* 1 / (2 i + 1) */
    const uint32_t word = float32_bits(x);
    int32_t exponent = (int32_t)(word >> 23) - 127;
    float m = float32_from_bits((word & 0x007FFFFFu) | 0x3F800000u); /* 1 <= m < 2 */
    if (m > SQRT2) {
        m = m * 0.5f;
        exponent = exponent + 1;
    }
    const float k = (float)exponent;
    const float f = (m - 1.0f) / (m + 1.0f);
    const float series = (2.0f * f) * polynomial(d, 4, f * f);
    const float low = k * 0x1.7f7d1cp-20f;
    const float high = k * 0x1.62e400p-1f;
    return high + (series + low);
}
