#include "kernels/fully_connected_f32.h"

enum { UNROLLED = 4 };

/* Add the products of `n` inputs with an error; `n` is a constant to the compiler. */
static inline __attribute__((always_inline)) void add_products(const float *in, float error, uint32_t n,
                                                               float *gradient) {
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
