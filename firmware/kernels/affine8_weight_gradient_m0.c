#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/affine8.h"
#include "kernels/terms_s8.h"
#include "kernels/tflite_gradient_sums_s8.h"

enum { CHUNK = 112 }; /* inputs at a time, 8 bytes of stack each */

void affine8_conv2d_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                    int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    tflite_patches_gradient_s8(in, errors, shape, input_zero, scratch, gradient);
}

void affine8_fully_connected_weight_gradient(const int8_t *in, const affine8_errors_t *errors, uint32_t inputs,
                                             int8_t input_zero, int32_t *gradient) {
    term_t terms[CHUNK];
    for (uint32_t first = 0; first < inputs; first += CHUNK) {
        const uint32_t n = inputs - first < CHUNK ? inputs - first : CHUNK;
        const term_t *end = terms_of_differences(terms, in + first, n, 1, input_zero, 4 * first, 4);
        for (uint32_t i = 0; i < errors->count; i++) {
            const int32_t e = errors->error[i] - errors->zero;
            if (e != 0) {
                terms_add_products(terms, (uint32_t)(end - terms), e, gradient + i * inputs);
            }
        }
    }
}

#endif
