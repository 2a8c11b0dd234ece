/* Losses in binary32, each operation rounded by itself. */
#include "loss.h"

#include "../exp_log.h"

float loss_of(int32_t classes, const int16_t *logits, int64_t label, float scale) {
    int32_t largest = logits[0];
    float sum = 0;
    for (int32_t j = 1; j < classes; j++)
        largest = logits[j] > largest ? logits[j] : largest;
    for (int32_t j = 0; j < classes; j++)
        sum = sum + exp32((float)(logits[j] - largest) * scale);
    return log32(sum) + (float)(largest - logits[label]) * scale;
}

int32_t delta_of(float difference) {
    float inside = difference < -32 ? -32 : difference > 32 ? 32 : difference;
    return (int32_t)rintf(inside * 65536);
}
