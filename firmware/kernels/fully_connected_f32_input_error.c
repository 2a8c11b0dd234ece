#include "kernels/fpu.h"

#if !KERNELS_FPU /* else fully_connected_f32_input_error_fpu.c */

#include "kernels/fully_connected_f32.h"

void fully_connected_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights, uint32_t inputs,
                                     bool further, float *input_error) {
    for (uint32_t i = 0; i < inputs; i++) {
        float sum = 0.0f;
        for (uint32_t k = 0; k < kept->count; k++) {
            const uint32_t o = kept->list == NULL ? k : kept->list[k];
            sum = add_product_f32(sum, weights[o * inputs + i], error[k]);
        }
        give_error_f32(&input_error[i], sum, further);
    }
}

#endif
