/* The float loss (docs/arithmetic.md, section 5): binary32, every operation rounded by itself, in this order. */
#include <math.h>
#include <stdlib.h>

#include "../exp_log.h"
#include "native.h"

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
