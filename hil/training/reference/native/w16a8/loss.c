/* Loss of the logits (docs/arithmetic-w16a8.md, section 2). */
#include "../exp_log.h"
#include "w16a8.h"

void w16a8_losses(int64_t classes, int64_t samples, int64_t lanes, float scale, const int16_t *logits,
                  const int64_t *labels, float *losses) {
    for (int64_t sample = 0; sample < samples; sample++) {
        const int16_t *own = logits + sample;
        int32_t largest = own[0];
        float sum = 0;
        for (int64_t j = 1; j < classes; j++)
            largest = own[j * lanes] > largest ? own[j * lanes] : largest;
        for (int64_t j = 0; j < classes; j++)
            sum = sum + exp32((float)(own[j * lanes] - largest) * scale);
        losses[sample] = log32(sum) + (float)(largest - own[labels[sample] * lanes]) * scale;
    }
}
