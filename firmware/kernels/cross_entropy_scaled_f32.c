#include "kernels/losses.h"

#include "arith/float32.h"

float cross_entropy_scaled_f32(const int8_t *logits, uint32_t n, float scale, uint32_t label) {
    const int32_t maximum = logits[argmax_s8(logits, n)];
    float sum = 0.0f;
    for (uint32_t j = 0; j < n; j++) {
        const float x = (float)(logits[j] - maximum) * scale;
        sum = sum + exp32(x);
    }
    const float distance = (float)(maximum - logits[label]) * scale;
    return log32(sum) + distance;
}
