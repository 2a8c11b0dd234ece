#include <string.h>

#include "kernels/affine8.h"
#include "kernels/affine8_errors.h"

#define LEAST_WORTH 0x1p-100f /* of a sum with a running range: below it, all is 0 */

enum { BLOCK = 64 /* sums that are on the stack at a time */, STEPS = 255, MIDDLE = 128 };

/* How a tensor becomes 8 bits: not at all, by adding the zero point, or rescaled. */
typedef struct {
    affine8_error_t error;
    bool zero, exact;
    bool within; /* rescaled, no byte is cut off */
    affine8_factor_t factor;
} scaling_t;

static inline uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static affine8_extent_t extent_of(const affine8_tensor_t *tensor) {
    affine8_extent_t all = {0, 0};
    if (tensor->fill == NULL) {
        return affine8_extent_s32(tensor->context, tensor->n);
    }
    if (tensor->passes != NULL) {
        return tensor->passes->measure(tensor->context, tensor->n);
    }
    for (uint32_t first = 0; first < tensor->n; first += BLOCK) {
        int32_t sums[BLOCK];
        const uint32_t n = least(BLOCK, tensor->n - first);
        tensor->fill(tensor->context, first, n, sums);
        const affine8_extent_t extent = affine8_extent_s32(sums, n);
        all.least = extent.least < all.least ? extent.least : all.least;
        all.most = extent.most > all.most ? extent.most : all.most;
    }
    return all;
}

static int8_t zero_of(int32_t steps) {
    return (int8_t)((steps < STEPS ? steps : STEPS) - MIDDLE);
}

/* By the range of the tensor itself; `width` is its D. */
static scaling_t by_itself(const affine8_extent_t *extent, uint32_t width, float c, bool floors) {
    if (width <= STEPS) {
        return (scaling_t){.exact = true, .error = {.s = c, .z = zero_of(-extent->least)}};
    }
    const affine8_factor_t factor = affine8_factor((float)STEPS / (float)width, floors);
    return (scaling_t){.factor = factor,
                       .error = {.s = c / affine8_factor_value(factor),
                                 .z = zero_of(affine8_rescale(-(int64_t)extent->least, factor))}};
}

/* By the range of former samples, which then takes in this one. */
static scaling_t by_running(const affine8_extent_t *extent, float c, const affine8_rule_t *rule) {
    const float a = c * (float)extent->least, b = c * (float)extent->most;
    affine8_running_t range = *rule->running;
    if (range.high - range.low == 0.0f) {
        range = (affine8_running_t){.low = a, .high = b};
    }
    const float wide = (range.high - range.low) / (float)STEPS, s = wide < c ? c : wide, j = 1.0f / s;
    const scaling_t scaling = {.factor = affine8_factor(c / s, rule->floors),
                               .error = {.s = s, .z = zero_of(affine8_round((0.0f - range.low) * j, rule->floors))}};
    range.low = range.low + rule->momentum * (a - range.low);
    range.high = range.high + rule->momentum * (b - range.high);
    *rule->running = range;
    return scaling;
}

static bool is_within(const affine8_extent_t *extent, const scaling_t *scaling) {
    const int32_t zero = scaling->error.z;
    return !scaling->exact && zero + affine8_rescale(extent->least, scaling->factor) >= INT8_MIN &&
           zero + affine8_rescale(extent->most, scaling->factor) <= INT8_MAX;
}

static scaling_t scaling_of(const affine8_tensor_t *tensor, const affine8_rule_t *rule) {
    const affine8_extent_t extent = extent_of(tensor);
    const uint32_t width = (uint32_t)extent.most - (uint32_t)extent.least;
    if (width == 0 || tensor->c == 0.0f || (rule->running != NULL && tensor->c < LEAST_WORTH)) {
        return (scaling_t){.zero = true};
    }
    scaling_t scaling = rule->running != NULL ? by_running(&extent, tensor->c, rule)
                                              : by_itself(&extent, width, tensor->c, rule->floors);
    scaling.within = is_within(&extent, &scaling);
    return scaling;
}

static void write_sums(const int32_t *sums, uint32_t n, const scaling_t *scaling, int8_t *out) {
    if (!scaling->exact) {
        affine8_requantize_s32(sums, n, scaling->factor, scaling->error.z, scaling->within, out);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (int8_t)(sums[i] + scaling->error.z);
    }
}

affine8_error_t affine8_quantize_sums(const affine8_tensor_t *tensor, const affine8_rule_t *rule, int8_t *out) {
    const affine8_factor_t same = {.m = 65535, .n = 16}; /* R(a, m, n) = a for sums of up to 2^15 */
    const scaling_t scaling = scaling_of(tensor, rule);
    if (scaling.zero) {
        memset(out, 0, tensor->n);
    } else if (tensor->fill == NULL) {
        write_sums(tensor->context, tensor->n, &scaling, out);
    } else if (tensor->passes != NULL) {
        tensor->passes->write(tensor->context, tensor->n, scaling.exact ? same : scaling.factor, scaling.error.z,
                              scaling.within);
    } else {
        for (uint32_t first = 0; first < tensor->n; first += BLOCK) {
            int32_t sums[BLOCK];
            const uint32_t n = least(BLOCK, tensor->n - first);
            tensor->fill(tensor->context, first, n, sums);
            write_sums(sums, n, &scaling, out + first);
        }
    }
    return scaling.error;
}
