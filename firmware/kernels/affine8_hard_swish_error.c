#include "kernels/affine8_errors.h"
#include "kernels/affine8_sloped.h"
#include "kernels/affine8_sloped_passes.h"

static void fill(const void *context, uint32_t first, uint32_t n, int32_t *sums) {
    const affine8_sloped_t *sloped = context;
    for (uint32_t i = first; i < first + n; i++) {
        *sums++ = affine8_sloped(sloped, i);
    }
}

affine8_error_t affine8_hard_swish_error(const int8_t *in, const int16_t *slopes, int8_t *error, affine8_error_t of,
                                         uint32_t n, const affine8_rule_t *rule, int8_t *out) {
    const affine8_sloped_t sloped = {.in = in, .error = error, .out = out, .slopes = slopes, .zero = of.z};
    const affine8_tensor_t tensor = {
        .fill = fill, .passes = AFFINE8_SLOPED_PASSES, .context = &sloped, .n = n, .c = of.s * 0x1p-7f};
    return affine8_quantize_sums(&tensor, rule, out);
}
