/* fully_connected in binary32: docs/arithmetic-float32.md, sections 3 and 5. */
#include "kernels/layers_f32.h"

#include "kernels/core.h"

#if KERNELS_FPU

enum { ROWS = 8 }; /* outputs that share a loaded input */

/* The sums of eight outputs, from `first` on. */
static void sum_rows(const float *in, const float *weights, uint32_t inputs, uint32_t outputs, uint32_t first,
                     float *sums) {
    const float *w[ROWS];
    float sum[ROWS] = {0.0f};
    for (uint32_t k = 0; k < ROWS; k++) {
        w[k] = weights + least_u32(first + k, outputs - 1) * inputs; /* beyond the last output, it is computed again */
    }
    for (const float *end = in + inputs; in != end; in++) {
        const float x = *in;
        for (uint32_t k = 0; k < ROWS; k++) {
            sum[k] = add_product_f32(sum[k], *w[k]++, x);
        }
    }
    for (uint32_t k = 0; k < ROWS; k++) {
        sums[k] = sum[k];
    }
}

void fully_connected_f32(const float *in, const float *weights, const float *bias, uint32_t inputs, uint32_t outputs,
                         const limits_f32_t *limits, float *out) {
    for (uint32_t o = 0; o < outputs; o += ROWS) {
        float sums[ROWS];
        sum_rows(in, weights, inputs, outputs, o, sums);
        for (uint32_t k = 0; k < least_u32(ROWS, outputs - o); k++) {
            out[o + k] = clamp_f32(sums[k] + bias[o + k], limits->least, limits->most);
        }
    }
}

#else

void fully_connected_f32(const float *in, const float *weights, const float *bias, uint32_t inputs, uint32_t outputs,
                         const limits_f32_t *limits, float *out) {
    for (uint32_t o = 0; o < outputs; o++, weights += inputs) {
        float sum = 0.0f;
        for (uint32_t i = 0; i < inputs; i++) {
            sum = add_product_f32(sum, weights[i], in[i]);
        }
        out[o] = clamp_f32(sum + bias[o], limits->least, limits->most);
    }
}

#endif

#if KERNELS_FPU

enum { COLUMNS = 16 }; /* inputs that share a loaded error */

/* The errors of `n` inputs, from the outputs of a list if they are `listed`: both constants to the compiler. */
INLINED void give_columns(const float *error, const kept_f32_t *kept, bool listed, const float *weights,
                          uint32_t inputs, uint32_t n, bool further, float *input_error) {
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

INLINED void give_inputs(const float *error, const kept_f32_t *kept, bool listed, const float *weights, uint32_t inputs,
                         bool further, float *input_error) {
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

#else

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

enum { UNROLLED = 4 };

/* Add the products of `n` inputs with an error; `n` is a constant to the compiler. */
INLINED void add_products(const float *in, float error, uint32_t n, float *gradient) {
    float g[UNROLLED];
    for (uint32_t k = 0; k < n; k++) {
        g[k] = add_product_f32(gradient[k], error, in[k]);
    }
    for (uint32_t k = 0; k < n; k++) {
        gradient[k] = g[k];
    }
}

static void add_row(const float *in, float error, uint32_t inputs, float *gradient) {
    uint32_t i = 0;
    for (; i + UNROLLED <= inputs; i += UNROLLED) {
        add_products(in + i, error, UNROLLED, gradient + i);
    }
    for (; i < inputs; i++) {
        add_products(in + i, error, 1, gradient + i);
    }
}

/* Rows whose error is 0 add nothing. */
void fully_connected_f32_weight_gradient(const float *in, const float *error, uint32_t inputs, uint32_t outputs,
                                         float *gradient) {
    for (uint32_t o = 0; o < outputs; o++, gradient += inputs) {
        if (!is_zero_f32(error[o])) {
            add_row(in, error[o], inputs, gradient);
        }
    }
}
