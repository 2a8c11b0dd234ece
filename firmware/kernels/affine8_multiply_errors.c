#include "kernels/affine8_errors.h"

typedef struct {
    const affine8_product_t *product;
    const int8_t *error;
    int8_t zero;
} gated_t;

static void fill(const void *context, uint32_t first, uint32_t n, int32_t *sums) {
    const gated_t *gated = context;
    const affine8_product_t *b = gated->product;
    for (uint32_t i = first; i < first + n; i++) {
        *sums++ = (gated->error[i] - gated->zero) * (b->other[i % b->channels] - b->zero);
    }
}

affine8_error_t affine8_multiply_error_of_a(const affine8_product_t *b, const int8_t *error, affine8_error_t of,
                                            const affine8_rule_t *rule, int8_t *out) {
    const gated_t gated = {.product = b, .error = error, .zero = of.z};
    const affine8_tensor_t tensor = {
        .fill = fill, .context = &gated, .n = b->positions * b->channels, .c = of.s * b->scale};
    return affine8_quantize_sums(&tensor, rule, out);
}

affine8_error_t affine8_multiply_error_of_b(const affine8_product_t *a, const int8_t *error, affine8_error_t of,
                                            const affine8_rule_t *rule, int32_t *sums, int8_t *out) {
    for (uint32_t c = 0; c < a->channels; c++) {
        int32_t sum = 0;
        for (uint32_t p = 0; p < a->positions; p++) {
            const uint32_t i = p * a->channels + c;
            sum += (error[i] - of.z) * (a->other[i] - a->zero);
        }
        sums[c] = sum;
    }
    const affine8_tensor_t tensor = {.context = sums, .n = a->channels, .c = of.s * a->scale};
    return affine8_quantize_sums(&tensor, rule, out);
}
