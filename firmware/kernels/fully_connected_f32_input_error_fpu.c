#include "kernels/fpu.h"

#if KERNELS_FPU

#include "kernels/fully_connected_f32.h"

enum {
    COLUMNS = 16, /* inputs that share a loaded error */
    FEW = 64      /* outputs whose errors are not 0, at most */
};

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

/* The same of some outputs. */
static inline __attribute__((always_inline)) void give_columns_of(const uint16_t *some, uint32_t count,
                                                                  const float *error, const float *weights,
                                                                  uint32_t inputs, uint32_t n, bool further,
                                                                  float *input_error) {
    float sum[COLUMNS] = {0.0f};
    for (uint32_t i = 0; i < count; i++) {
        const float e = error[some[i]], *const row = weights + some[i] * inputs;
        for (uint32_t k = 0; k < n; k++) {
            sum[k] = add_product_f32(sum[k], row[k], e);
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        give_error_f32(&input_error[k], sum[k], further);
    }
}

static void give_all(const float *error, const float *weights, uint32_t inputs, uint32_t outputs, bool further,
                     float *input_error) {
    uint32_t i = 0;
    for (; i + COLUMNS <= inputs; i += COLUMNS) {
        give_columns(error, weights + i, inputs, outputs, COLUMNS, further, input_error + i);
    }
    for (; i < inputs; i++) {
        give_columns(error, weights + i, inputs, outputs, 1, further, input_error + i);
    }
}

/* The outputs whose error is not 0, if they are few; a count of more than that otherwise. */
static uint32_t few_of(const float *error, uint32_t outputs, uint16_t some[FEW]) {
    const uint32_t most = outputs / 2 < FEW ? outputs / 2 : FEW;
    uint32_t count = 0;
    for (uint32_t o = 0; o < outputs; o++) {
        if (!is_zero_f32(error[o])) {
            if (count == most) {
                return FEW + 1;
            }
            some[count++] = (uint16_t)o;
        }
    }
    return count;
}

/* An error of 0 adds nothing, as the sums are not -0: after the selection of channels there are many. */
void fully_connected_f32_input_error(const float *error, const float *weights, uint32_t inputs, uint32_t outputs,
                                     bool further, float *input_error) {
    uint16_t some[FEW];
    const uint32_t count = few_of(error, outputs, some);
    if (count > FEW) {
        give_all(error, weights, inputs, outputs, further, input_error);
        return;
    }
    uint32_t i = 0;
    for (; i + COLUMNS <= inputs; i += COLUMNS) {
        give_columns_of(some, count, error, weights + i, inputs, COLUMNS, further, input_error + i);
    }
    for (; i < inputs; i++) {
        give_columns_of(some, count, error, weights + i, inputs, 1, further, input_error + i);
    }
}

#endif
