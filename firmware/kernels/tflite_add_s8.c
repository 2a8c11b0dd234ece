#include "kernels/tflite_add_s8.h"

#include "arith/rescale.h"

/* Every result fits int32: an input gives at most 2^28, the sum 2^29. */
static int32_t rescaled(int32_t value, const tflite_operand_t *operand, bool single) {
    if (single) {
        return (int32_t)rescale_single(value, operand->multiplier, operand->shift);
    }
    return rescale_double(value, operand->multiplier, operand->shift);
}

static int32_t term(int32_t q, const tflite_operand_t *operand, bool single) {
    return rescaled((q - operand->zero) * (1 << 20), operand, single);
}

void tflite_add_s8(const int8_t *a, const int8_t *b, uint32_t n, const tflite_add_t *add, int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t sum = term(a[i], &add->a, add->single) + term(b[i], &add->b, add->single);
        int32_t value = add->out.zero + rescaled(sum, &add->out, add->single);
        value = value < add->act_min ? add->act_min : value;
        out[i] = (int8_t)(value > add->act_max ? add->act_max : value);
    }
}
