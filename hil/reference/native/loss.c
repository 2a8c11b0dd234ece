/* The float loss (docs/arithmetic.md, section 5): binary32, every operation rounded by itself, in this order. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "native.h"

#if FLT_EVAL_METHOD != 0
#error "operations on float are not rounded to float here"
#endif

static const float LN2_HIGH = 0x1.62e400p-1f, LN2_LOW = 0x1.7f7d1cp-20f;

static float exp32(float x) {
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

static float log32(float x) {
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

int native_cross_entropy(int64_t batch, int64_t classes, const int8_t *logits, const int64_t *exponents,
                         const int64_t *labels, float *loss) {
    float *x = malloc((size_t)(batch * classes) * sizeof *x), *total = calloc((size_t)batch, sizeof *total);
    float *margin = malloc((size_t)batch * sizeof *margin);
    int failed = !x || !total || !margin;
    if (!failed) {
        for (int64_t sample = 0; sample < batch; sample++) {
            const int8_t *own = logits + sample * classes;
            int64_t exponent = exponents[sample] < -60 ? -60 : exponents[sample] > 60 ? 60 : exponents[sample];
            float scale = ldexpf(1, (int)exponent);
            int largest = own[0];
            for (int64_t i = 1; i < classes; i++)
                largest = own[i] > largest ? own[i] : largest;
            for (int64_t i = 0; i < classes; i++)
                x[sample * classes + i] = (float)(own[i] - largest) * scale;
            margin[sample] = (float)(largest - own[labels[sample]]) * scale;
        }
        for (int64_t i = 0; i < batch * classes; i++)
            x[i] = exp32(x[i]);
        for (int64_t sample = 0; sample < batch; sample++)
            for (int64_t i = 0; i < classes; i++)
                total[sample] += x[sample * classes + i];
        for (int64_t sample = 0; sample < batch; sample++)
            margin[sample] += log32(total[sample]);
        *loss = 0;
        for (int64_t sample = 0; sample < batch; sample++)
            *loss += margin[sample];
    }
    free(margin);
    free(total);
    free(x);
    return failed ? -1 : 0;
}
