#include "kernels/losses.h"

#include "arith/float32.h"

static float term(int32_t logit, int32_t maximum, float scale) {
    const float x = (float)(logit - maximum) * scale;
    return exp32(x);
}

void cross_entropy_error_s8(const int8_t *logits, uint32_t n, float scale, uint32_t label, int8_t *error) {
    const int32_t maximum = logits[argmax_s8(logits, n)];
    float sum = 0.0f;
    for (uint32_t j = 0; j < n; j++) {
        sum = sum + term(logits[j], maximum, scale);
    }
    for (uint32_t j = 0; j < n; j++) {
        float d = term(logits[j], maximum, scale) / sum;
        d = j == label ? d - 1.0f : d;
        error[j] = (int8_t)float32_round(d * 127.0f);
    }
}
