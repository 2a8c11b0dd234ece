/* Errors of what hard_swish and multiply read, and of values with two readers: docs/arithmetic-affine8.md, sections 2
   and 7. */
#include "kernels/affine8_errors.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/affine8_elementwise.h"
#include "kernels/affine8_sums.h"
#include "kernels/dsp.h"

/* The error of what hard_swish reads, element by element. */
typedef struct {
    const int8_t *in;
    int8_t *error, *out;   /* of the output; of the input, which has its own bytes */
    const int16_t *slopes; /* of the 256 inputs, from -128 on, in -64..192 */
    int8_t zero;           /* of the error */
} affine8_sloped_t;

static inline int32_t affine8_sloped(const affine8_sloped_t *sloped, uint32_t i) {
    return (sloped->error[i] - sloped->zero) * sloped->slopes[sloped->in[i] - INT8_MIN];
}

#if KERNELS_DSP

/* The first pass leaves the sums for the second one. With a bias that the zero point gives they are 16 bits wide,
   because a slope is -64..192; those of the first half of the elements lie where the output will, those of the second
   half where the error was. Both have been read by then, and each is written after the sums there have been. */

enum { FOUR = 4, EIGHT = 8, SIXTEEN = 16, WORD = 4 };

/* The elements that these passes take by fours, in two halves; a few are left at the end. */
static uint32_t half_of(uint32_t n) {
    return n / EIGHT * FOUR;
}

/* A multiple of 2^8, for write_half(). */
static int32_t bias_of(const affine8_sloped_t *sloped) {
    return ((sloped->zero + 1) >> 1) * 256;
}

/* Of each lane. */
typedef struct {
    uint32_t least, most;
} lanes_extent_t;

/* Two words: the larger ones of their lanes can only be the most, the smaller ones the least. */
static inline void include(lanes_extent_t *extent, const uint32_t two[2]) {
    uint32_t smaller, larger;
    order_lanes(two[0], two[1], &smaller, &larger);
    lower_lanes(&extent->least, smaller);
    raise_lanes(&extent->most, larger);
}

/* What the elements have in common. */
typedef struct {
    const int16_t *slopes; /* of the input 0 */
    uint32_t negative_zero;
    int32_t bias;
} common_t;

/* The sums of four elements, with their bias. */
static inline void sums_of_four(const common_t *common, const int8_t *in, const int8_t *error, lanes_extent_t *extent,
                                uint32_t two[2]) {
    const int16_t *const slopes = common->slopes;
    const int32_t bias = common->bias;
    const uint32_t word = load_word(error), even = add_even_lanes(common->negative_zero, word),
                   odd = add_odd_lanes(common->negative_zero, word);
    two[0] = low_lanes((uint32_t)sum_of_low_product(bias, even, (uint32_t)slopes[in[0]]),
                       (uint32_t)sum_of_low_product(bias, odd, (uint32_t)slopes[in[1]]));
    two[1] = low_lanes((uint32_t)sum_of_top_product(bias, even, (uint32_t)slopes[in[2]]),
                       (uint32_t)sum_of_top_product(bias, odd, (uint32_t)slopes[in[3]]));
    include(extent, two);
}

/* The sums of elements first..first + n - 1 go to `sums`. */
static void measure_half(const affine8_sloped_t *sloped, uint32_t first, uint32_t n, int8_t *sums,
                         lanes_extent_t *extent) {
    const int8_t *in = sloped->in + first, *error = sloped->error + first;
    const uint32_t lane = (uint32_t)-sloped->zero;
    const common_t common = {
        .slopes = sloped->slopes - INT8_MIN, .negative_zero = low_lanes(lane, lane), .bias = bias_of(sloped)};
    lanes_extent_t own = *extent;
    uint32_t two[2];
    const int8_t *const end = in + n;
    for (const int8_t *const most = in + n / SIXTEEN * SIXTEEN; in != most; in += SIXTEEN, error += SIXTEEN) {
        for (uint32_t i = 0; i < SIXTEEN; i += FOUR) {
            sums_of_four(&common, in + i, error + i, &own, two);
            sums = put_two(sums, two);
        }
    }
    for (; in != end; in += FOUR, error += FOUR) {
        sums_of_four(&common, in, error, &own, two);
        sums = put_two(sums, two);
    }
    *extent = own;
}

static affine8_extent_t measure(const void *context, uint32_t n) {
    const affine8_sloped_t *sloped = context;
    const uint32_t half = half_of(n);
    const int32_t bias = bias_of(sloped);
    lanes_extent_t lanes = {.least = low_lanes((uint32_t)bias, (uint32_t)bias),
                            .most = low_lanes((uint32_t)bias, (uint32_t)bias)};
    affine8_spread_t spread = {0, 0};
    for (uint32_t i = 2 * half; i < n; i++) {
        affine8_include(&spread, affine8_sloped(sloped, i));
    }
    measure_half(sloped, 0, half, sloped->out, &lanes);
    measure_half(sloped, half, half, sloped->error, &lanes);
    for (uint32_t i = 0; i < 2; i++) {
        affine8_include(&spread, lane_s16(lanes.least, i) - bias);
        affine8_include(&spread, lane_s16(lanes.most, i) - bias);
    }
    return affine8_extent_of(&spread);
}

/* R(a, m, n) for n in 17..24, of four sums with a bias: the product with m * 2^(32 - n) has 16 bits of fraction after
   SMLAW, of which the bias has none. `start` is 128 too much, so that no byte has a sign. Where they are not all
   `within`, which the compiler knows, they are held. */
static inline uint32_t four_bytes(const uint32_t two[2], int32_t multiplier, int32_t start, bool within) {
    const uint32_t first = (uint32_t)add_wide_low_product(start, multiplier, two[0]),
                   second = (uint32_t)add_wide_top_product(start, multiplier, two[0]),
                   third = (uint32_t)add_wide_low_product(start, multiplier, two[1]),
                   fourth = (uint32_t)add_wide_top_product(start, multiplier, two[1]);
    const uint32_t even = high_lanes(first, third), odd = high_lanes(second, fourth);
    return (within ? even | odd << 8 : hold_lanes_u8(even) | hold_lanes_u8(odd) << 8) ^ 0x80808080u;
}

INLINED void write_lanes(const int8_t *sums, uint32_t n, int32_t multiplier, int32_t start, bool within, int8_t *out) {
    uint32_t two[2], bytes[2];
    for (const int8_t *const end = out + n / EIGHT * EIGHT; out != end;) {
        for (uint32_t i = 0; i < 2; i++) {
            sums = next_two(sums, two);
            bytes[i] = four_bytes(two, multiplier, start, within);
        }
        out = put_two(out, bytes);
    }
    if (n % EIGHT != 0) {
        next_two(sums, two);
        store_word(out, four_bytes(two, multiplier, start, within));
    }
}

/* A half of the elements, its sums, and how they become bytes. */
typedef struct {
    const int8_t *sums;
    uint32_t n;
    int32_t bias;
    affine8_factor_t factor;
    int32_t zero;
    int8_t *out;
} half_t;

static int32_t start_of(const half_t *half) {
    const int32_t of_bias = (int32_t)(((int64_t)half->bias * byte_multiplier(half->factor)) >> 16);
    return (int32_t)((uint32_t)(half->zero - INT8_MIN) << 16) + (1 << 15) - of_bias;
}

static void write_within(const half_t *half) {
    write_lanes(half->sums, half->n, byte_multiplier(half->factor), start_of(half), true, half->out);
}

static void write_held(const half_t *half) {
    write_lanes(half->sums, half->n, byte_multiplier(half->factor), start_of(half), false, half->out);
}

static void write_by_any(const half_t *half) {
    const int8_t *sums = half->sums;
    for (int8_t *out = half->out; out != half->out + half->n; out += 2, sums += WORD) {
        const uint32_t lanes = load_word(sums);
        out[0] = any_byte(lane_s16(lanes, 0) - half->bias, half->factor, half->zero);
        out[1] = any_byte(lane_s16(lanes, 1) - half->bias, half->factor, half->zero);
    }
}

static void write(const void *context, uint32_t n, affine8_factor_t factor, int8_t zero, bool within) {
    const affine8_sloped_t *sloped = context;
    const bool quick = byte_is_quick(factor) && factor.n <= 24;
    void (*const write_half)(const half_t *) = !quick ? write_by_any : within ? write_within : write_held;
    half_t half = {.sums = sloped->out,
                   .n = half_of(n),
                   .bias = bias_of(sloped),
                   .factor = factor,
                   .zero = zero,
                   .out = sloped->out};
    write_half(&half);
    half.sums = sloped->error;
    half.out += half.n;
    write_half(&half);
    for (uint32_t i = 2 * half.n; i < n; i++) {
        sloped->out[i] = any_byte(affine8_sloped(sloped, i), factor, zero);
    }
}

static const affine8_passes_t sloped_passes = {.measure = measure, .write = write};
#define SLOPED_PASSES (&sloped_passes)

#else
#define SLOPED_PASSES NULL
#endif

static void fill_sloped(const void *context, uint32_t first, uint32_t n, int32_t *sums) {
    const affine8_sloped_t *sloped = context;
    for (uint32_t i = first; i < first + n; i++) {
        *sums++ = affine8_sloped(sloped, i);
    }
}

affine8_error_t affine8_hard_swish_error(const int8_t *in, const int16_t *slopes, int8_t *error, affine8_error_t of,
                                         uint32_t n, const affine8_rule_t *rule, int8_t *out) {
    const affine8_sloped_t sloped = {.in = in, .error = error, .out = out, .slopes = slopes, .zero = of.z};
    const affine8_tensor_t tensor = {
        .fill = fill_sloped, .passes = SLOPED_PASSES, .context = &sloped, .n = n, .c = of.s * 0x1p-7f};
    return affine8_quantize_sums(&tensor, rule, out);
}

typedef struct {
    const affine8_product_t *product;
    const int8_t *error;
    int8_t zero;
} gated_t;

static void fill_products(const void *context, uint32_t first, uint32_t n, int32_t *sums) {
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
        .fill = fill_products, .context = &gated, .n = b->positions * b->channels, .c = of.s * b->scale};
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

typedef struct {
    const int8_t *first, *second;
    int8_t first_zero, second_zero;
    int32_t factors[2];
} two_errors_t;

static void fill_merged(const void *context, uint32_t first, uint32_t n, int32_t *sums) {
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
    const affine8_tensor_t tensor = {.fill = fill_merged, .context = &two, .n = n, .c = common * 0x1p-14f};
    const affine8_rule_t rule = {.floors = floors};
    return affine8_quantize_sums(&tensor, &rule, error);
}
