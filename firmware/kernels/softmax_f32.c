/* Loss, error and class of logits in binary32: docs/arithmetic-float32.md, sections 4 and 9. */
#include "kernels/layers_f32.h"

#include "arith/float32.h"

uint32_t argmax_f32(const float *values, uint32_t n) {
    uint32_t found = 0;
    for (uint32_t j = 1; j < n; j++) {
        found = values[j] > values[found] ? j : found;
    }
    return found;
}

/* S */
static float sum_of_terms(const float *logits, uint32_t n, float maximum) {
    float sum = 0.0f;
    for (uint32_t j = 0; j < n; j++) {
        sum = sum + exp32(logits[j] - maximum);
    }
    return sum;
}

float softmax_loss_f32(const float *logits, uint32_t n, uint32_t label) {
    const float maximum = logits[argmax_f32(logits, n)];
    return log32(sum_of_terms(logits, n, maximum)) + (maximum - logits[label]);
}

void softmax_error_f32(const float *logits, uint32_t n, uint32_t label, float *error) {
    const float maximum = logits[argmax_f32(logits, n)];
    float sum = 0.0f;
    for (uint32_t j = 0; j < n; j++) {
        error[j] = exp32(logits[j] - maximum);
        sum = sum + error[j];
    }
    for (uint32_t j = 0; j < n; j++) {
        error[j] = error[j] / sum;
    }
    error[label] = error[label] - 1.0f;
}
