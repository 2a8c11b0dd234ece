/* Loss and error of the logits (docs/arithmetic-float32.md, section 4). */
#include "../exp_log.h"
#include "float32.h"

void float32_losses(int64_t classes, int64_t samples, int64_t lanes, const float *logits, const int64_t *labels,
                    float *losses, float *error) {
    for (int64_t sample = 0; sample < samples; sample++) {
        const float *own = logits + sample;
        float *terms = error + sample, largest = own[0], sum = 0;
        for (int64_t j = 1; j < classes; j++)
            largest = own[j * lanes] > largest ? own[j * lanes] : largest;
        for (int64_t j = 0; j < classes; j++) {
            terms[j * lanes] = exp32(own[j * lanes] - largest);
            sum = sum + terms[j * lanes];
        }
        losses[sample] = log32(sum) + (largest - own[labels[sample] * lanes]);
        for (int64_t j = 0; j < classes; j++)
            terms[j * lanes] = terms[j * lanes] / sum;
        terms[labels[sample] * lanes] -= 1.0f;
    }
    for (int64_t j = 0; j < classes; j++)
        for (int64_t lane = samples; lane < lanes; lane++)
            error[j * lanes + lane] = 0;
}
