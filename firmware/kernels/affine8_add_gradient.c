#include "kernels/affine8.h"

/* A sum of 0 changes nothing: no gradient is -0. */
void affine8_add_gradient(const int32_t *sums, uint32_t n, uint32_t sum_step, float c, uint32_t step, float *gradient) {
    for (; n > 0; n--, sums += sum_step, gradient += step) {
        if (*sums != 0) {
            const float product = c * (float)*sums;
            *gradient = *gradient + product;
        }
    }
}
