#include "arith/exp32.h"

#include "arith/float32.h"

/* Horner's scheme, each product and each sum rounded. */
static float polynomial(float r) {
    static const float c[8] = {0x1p+0f,        0x1p+0f,        0x1p-1f,         0x1.555556p-3f,
                               0x1.555556p-5f, 0x1.111112p-7f, 0x1.6c16c2p-10f, 0x1.a01a02p-13f}; /* 1 / i! */
    float p = c[7];
    for (int i = 6; i >= 0; i--) {
        const float product = p * r;
        p = product + c[i];
    }
    return p;
}

float exp32(float x) {
    if (x < -87.0f) {
        return 0.0f;
    }
    const float k = float32_round(x * 0x1.715476p+0f);
    const float high = k * 0x1.62e400p-1f;
    const float low = k * 0x1.7f7d1cp-20f;
    const float r = (x - high) - low;
    return polynomial(r) * float32_power_of_two((int32_t)k);
}
