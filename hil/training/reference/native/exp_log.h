/* exp and log of docs/arithmetic.md, section 5: binary32, every operation rounded by itself, in this order. */
#pragma once

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "operations on float are not rounded to float here"
#endif

static const float LN2_HIGH = 0x1.62e400p-1f, LN2_LOW = 0x1.7f7d1cp-20f;

static inline float exp32(float x) {
    static const float terms[] = {1,
                                  1,
                                  (float)(1.0 / 2),
                                  (float)(1.0 / 6),
                                  (float)(1.0 / 24),
                                  (float)(1.0 / 120),
                                  (float)(1.0 / 720),
                                  (float)(1.0 / 5040)};
    float inside = x < -87.0f ? 0.0f : x, k = rintf(inside * 0x1.715476p+0f), power;
    float r = (inside - k * LN2_HIGH) - k * LN2_LOW, p = terms[7];
    for (int i = 6; i >= 0; i--)
        p = p * r + terms[i];
    int32_t pattern = ((int32_t)k + 127) << 23;
    memcpy(&power, &pattern, sizeof power);
    return x < -87.0f ? 0.0f : p * power;
}

static inline float log32(float x) {
    static const float terms[] = {1, (float)(1.0 / 3), (float)(1.0 / 5), (float)(1.0 / 7), (float)(1.0 / 9)};
    int32_t pattern;
    float m;
    memcpy(&pattern, &x, sizeof pattern);
    float k = (float)((pattern >> 23) - 127);
    pattern = (pattern & 0x7FFFFF) | 0x3F800000;
    memcpy(&m, &pattern, sizeof m);
    if (m > 0x1.6a09e6p+0f) {
        m = m * 0.5f;
        k = k + 1;
    }
    float f = (m - 1) / (m + 1), q = f * f, p = terms[4];
    for (int i = 3; i >= 0; i--)
        p = p * q + terms[i];
    return k * LN2_HIGH + ((2 * f) * p + k * LN2_LOW);
}
