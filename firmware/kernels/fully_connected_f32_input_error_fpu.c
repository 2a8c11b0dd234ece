#include "kernels/fpu.h"

#if KERNELS_FPU

#include "kernels/fully_connected_f32.h"

enum { COLUMNS = 16 }; /* inputs that share a loaded error */

/* The errors of `n` inputs: a constant to the compiler. */
static inline __attribute__((always_inline)) void give_columns(const float *error, const float *weights,
                                                               uint32_t inputs, uint32_t outputs, uint32_t n,
                                                               bool further, float *input_error) {
    float sum[COLUMNS] = {0.0f};
    for (const float *end = error + outputs; error != end; error++, weights += inputs) {
        const float e = *error;
        for (uint32_t k = 0; k < n; k++) {
            sum[k] = add_product_f32(sum[k], weights[k], e);
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        give_error_f32(&input_error[k], sum[k], further);
    }
}

void fully_connected_f32_input_error(const float *error, const float *weights, uint32_t inputs, uint32_t outputs,
                                     bool further, float *input_error) {
    uint32_t i = 0;
    for (; i + COLUMNS <= inputs; i += COLUMNS) {
        give_columns(error, weights + i, inputs, outputs, COLUMNS, further, input_error + i);
    }
    for (; i < inputs; i++) {
        give_columns(error, weights + i, inputs, outputs, 1, further, input_error + i);
    }
}

#endif
