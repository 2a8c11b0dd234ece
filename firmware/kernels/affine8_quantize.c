/* An integer or float tensor becomes 8 bits: docs/arithmetic-affine8.md, section 2. */
#include "kernels/affine8_errors.h"

#include <string.h>

#include "arith/float32.h"
#include "kernels/affine8.h"
#include "kernels/affine8_sums.h"
#include "kernels/dsp.h"
#include "kernels/losses.h"

/* The first eight of the sums up to `end`, some eights, that are not all within an extent, or `end`. */
#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

static inline const int32_t *affine8_skip_within(const int32_t *sums, const int32_t *end,
                                                 const affine8_spread_t *spread) {
    __asm__ volatile(
        "1:\n\tcmp %0, %1\n\tbeq 3f\n\t"
        "ldm %0!, {r4-r11}\n\t"
        "add r4, %2\n\tadd r5, %2\n\tadd r6, %2\n\tadd r7, %2\n\t"
        "add r8, %2\n\tadd r9, %2\n\tadd r10, %2\n\tadd r11, %2\n\t"
        "cmp r4, %3\n\t" /* and so on, while they are within */
        "itttt ls\n\tcmpls r5, %3\n\tcmpls r6, %3\n\tcmpls r7, %3\n\tcmpls r8, %3\n\t"
        "ittt ls\n\tcmpls r9, %3\n\tcmpls r10, %3\n\tcmpls r11, %3\n\t"
        "bls 1b\n\tsubs %0, #32\n\t"
        "3:\n\t"
        : "+l"(sums)
        : "r"(end), "r"(spread->lift), "r"(spread->width)
        : "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "cc", "memory");
    return sums;
}

#else

static inline const int32_t *affine8_skip_within(const int32_t *sums, const int32_t *end,
                                                 const affine8_spread_t *spread) {
    while (sums != end) {
        for (uint32_t i = 0; i < 8; i++) {
            if (!affine8_is_within(spread, sums[i])) {
                return sums;
            }
        }
        sums += 8;
    }
    return sums;
}

#endif

enum { EIGHT = 8 };

static void include_all(affine8_spread_t *spread, const int32_t *sums, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        affine8_include(spread, sums[i]);
    }
}

SEPARATE affine8_extent_t affine8_extent_s32(const int32_t *sums, uint32_t n) {
    affine8_spread_t spread = {0, 0};
    const int32_t *const eights = sums + n / EIGHT * EIGHT;
    while (sums != eights) {
        sums = affine8_skip_within(sums, eights, &spread);
        if (sums != eights) {
            include_all(&spread, sums, EIGHT);
            sums += EIGHT;
        }
    }
    include_all(&spread, sums, n % EIGHT);
    return affine8_extent_of(&spread);
}

#define LEAST_WORTH 0x1p-100f /* of a sum with a running range: below it, all is 0 */

enum { BLOCK = 64 /* sums that are on the stack at a time */, STEPS = 255, MIDDLE = 128 };

/* How a tensor becomes 8 bits: not at all, by adding the zero point, or rescaled. */
typedef struct {
    affine8_error_t error;
    bool zero, exact;
    bool within; /* rescaled, no byte is cut off */
    affine8_factor_t factor;
} scaling_t;

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
        const uint32_t n = least_u32(BLOCK, tensor->n - first);
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

SEPARATE affine8_error_t affine8_quantize_sums(const affine8_tensor_t *tensor, const affine8_rule_t *rule,
                                               int8_t *out) {
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
            const uint32_t n = least_u32(BLOCK, tensor->n - first);
            tensor->fill(tensor->context, first, n, sums);
            write_sums(sums, n, &scaling, out + first);
        }
    }
    return scaling.error;
}

#define LEAST_WIDTH 0x1p-100f /* below it all is 0 */

/* Element i of a float tensor. */
typedef float element_t(const void *context, uint32_t i);

/* Inlined, so that the compiler knows `element`. */
INLINED affine8_error_t quantize_floats(element_t *element, const void *context, uint32_t n, bool floors, int8_t *out) {
    float low = 0.0f, high = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        const float x = element(context, i);
        low = float32_least(low, x);
        high = float32_most(high, x);
    }
    if (high - low < LEAST_WIDTH) {
        memset(out, 0, n);
        return (affine8_error_t){.s = 0.0f};
    }
    const affine8_params_t params = affine8_params(low, high, floors);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = affine8_quantize(element(context, i), params.j, params.z, floors);
    }
    return (affine8_error_t){.s = params.s, .z = params.z};
}

static float number(const void *context, uint32_t i) {
    return ((const float *)context)[i];
}

affine8_error_t affine8_quantize_f32(const float *values, uint32_t n, bool floors, int8_t *out) {
    return quantize_floats(number, values, n, floors, out);
}

typedef struct {
    const int8_t *logits;
    int32_t largest;
    float scale, sum;
    uint32_t label;
} softmax_t;

static float term(const softmax_t *softmax, uint32_t j) {
    return exp32((float)(softmax->logits[j] - softmax->largest) * softmax->scale);
}

static float softmax_less_one_hot(const void *context, uint32_t j) {
    const softmax_t *softmax = context;
    const float share = term(softmax, j) / softmax->sum;
    return j == softmax->label ? share - 1.0f : share;
}

affine8_error_t affine8_logits_error(const int8_t *logits, uint32_t n, float scale, uint32_t label, bool floors,
                                     int8_t *out) {
    softmax_t softmax = {.logits = logits, .largest = logits[argmax_s8(logits, n)], .scale = scale, .label = label};
    for (uint32_t j = 0; j < n; j++) {
        softmax.sum = softmax.sum + term(&softmax, j);
    }
    return quantize_floats(softmax_less_one_hot, &softmax, n, floors, out);
}
