#include "kernels/fpu.h"

#if KERNELS_FPU

#include "kernels/fully_connected_f32.h"

enum { COLUMNS = 16 }; /* inputs that share a loaded error */

/* The errors of `n` inputs, from the outputs of a list if they are `listed`: both constants to the compiler. */
static inline __attribute__((always_inline)) void give_columns(const float *error, const kept_f32_t *kept, bool listed,
                                                               const float *weights, uint32_t inputs, uint32_t n,
                                                               bool further, float *input_error) {
    float sum[COLUMNS] = {0.0f};
    const uint16_t *list = kept->list;
    const float *row = weights;
    for (const float *end = error + kept->count; error != end; error++) {
        const float e = *error;
        if (listed) {
            row = weights + *list++ * inputs;
        }
        for (uint32_t k = 0; k < n; k++) {
            sum[k] = add_product_f32(sum[k], row[k], e);
        }
        row += inputs;
    }
    for (uint32_t k = 0; k < n; k++) {
        give_error_f32(&input_error[k], sum[k], further);
    }
}

static inline __attribute__((always_inline)) void give_inputs(const float *error, const kept_f32_t *kept, bool listed,
                                                              const float *weights, uint32_t inputs, bool further,
                                                              float *input_error) {
    uint32_t i = 0;
    for (; i + COLUMNS <= inputs; i += COLUMNS) {
        give_columns(error, kept, listed, weights + i, inputs, COLUMNS, further, input_error + i);
    }
    for (; i < inputs; i++) {
        give_columns(error, kept, listed, weights + i, inputs, 1, further, input_error + i);
    }
}

void fully_connected_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights, uint32_t inputs,
                                     bool further, float *input_error) {
    if (kept->list == NULL) {
        give_inputs(error, kept, false, weights, inputs, further, input_error);
    } else {
        give_inputs(error, kept, true, weights, inputs, further, input_error);
    }
}

#endif
