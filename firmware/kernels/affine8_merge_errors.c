#include <string.h>

#include "kernels/affine8_elementwise.h"
#include "kernels/affine8_errors.h"

typedef struct {
    const int8_t *first, *second;
    int8_t first_zero, second_zero;
    int32_t factors[2];
} two_errors_t;

static void fill(const void *context, uint32_t first, uint32_t n, int32_t *sums) {
    const two_errors_t *two = context;
    const int8_t *a = two->first + first, *b = two->second + first;
    for (uint32_t i = 0; i < n; i++) {
        sums[i] = (a[i] - two->first_zero) * two->factors[0] + (b[i] - two->second_zero) * two->factors[1];
    }
}

affine8_error_t affine8_merge_errors(int8_t *error, affine8_error_t of, const int8_t *second, affine8_error_t of_second,
                                     uint32_t n, bool floors) {
    if (of_second.s == 0.0f) {
        return of;
    }
    if (of.s == 0.0f) {
        memcpy(error, second, n);
        return of_second;
    }
    two_errors_t two = {.first = error, .second = second, .first_zero = of.z, .second_zero = of_second.z};
    const float common = affine8_common_scale(of.s, of_second.s, two.factors);
    const affine8_tensor_t tensor = {.fill = fill, .context = &two, .n = n, .c = common * 0x1p-14f};
    const affine8_rule_t rule = {.floors = floors};
    return affine8_quantize_sums(&tensor, &rule, error);
}
