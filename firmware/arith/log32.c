#include "arith/log32.h"

#include "arith/float32.h"

#define SQRT2 0x1.6a09e6p+0f

/* Horner's scheme, each product and each sum rounded. */
static float polynomial(float q) {
    static const float d[5] = {0x1p+0f, 0x1.555556p-2f, 0x1.99999ap-3f, 0x1.24924ap-3f,
                               0x1.c71c72p-4f}; /* 1 / (2 i + 1) */
    float p = d[4];
    for (int i = 3; i >= 0; i--) {
        const float product = p * q;
        p = product + d[i];
    }
    return p;
}

float log32(float x) {
    const uint32_t word = float32_bits(x);
    int32_t exponent = (int32_t)(word >> 23) - 127;
    float m = float32_from_bits((word & 0x007FFFFFu) | 0x3F800000u); /* 1 <= m < 2 */
    if (m > SQRT2) {
        m = m * 0.5f;
        exponent = exponent + 1;
    }
    const float k = (float)exponent;
    const float f = (m - 1.0f) / (m + 1.0f);
    const float series = (2.0f * f) * polynomial(f * f);
    const float low = k * 0x1.7f7d1cp-20f;
    const float high = k * 0x1.62e400p-1f;
    return high + (series + low);
}
