#include "kernels/fully_connected_f32.h"

/* Rows whose error is 0 add nothing. */
void fully_connected_f32_weight_gradient(const float *in, const float *error, uint32_t inputs, uint32_t outputs,
                                         float *gradient) {
    for (uint32_t o = 0; o < outputs; o++, gradient += inputs) {
        for (uint32_t i = 0; i < inputs && !is_zero_f32(error[o]); i++) {
            gradient[i] = add_product_f32(gradient[i], error[o], in[i]);
        }
    }
}
