#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/affine8_sloped.h"
#include "kernels/affine8_sloped_passes.h"
#include "kernels/affine8_spread.h"
#include "kernels/byte_of_sum.h"
#include "kernels/dsp_multiply.h"

/* The first pass leaves the sums for the second one. With a bias that the zero point gives they are 16 bits wide,
   because a slope is -64..192; those of the first half of the elements lie where the output will, those of the second
   half where the error was. Both have been read by then, and each is written after the sums there have been. */

enum { FOUR = 4, EIGHT = 8, WORD = 4 };

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

static inline void include(lanes_extent_t *extent, uint32_t lanes) {
    extent->least = where_lanes_at_least(lanes, extent->least, extent->least, lanes);
    extent->most = where_lanes_at_least(lanes, extent->most, lanes, extent->most);
}

/* The sums of elements first..first + n - 1, with their bias, go to `sums`. */
static void measure_half(const affine8_sloped_t *sloped, uint32_t first, uint32_t n, int8_t *sums,
                         lanes_extent_t *extent) {
    const int8_t *in = sloped->in + first, *error = sloped->error + first;
    const int16_t *const slopes = sloped->slopes - INT8_MIN;
    const uint32_t lane = (uint32_t)-sloped->zero, negative_zero = low_lanes(lane, lane);
    const int32_t bias = bias_of(sloped);
    lanes_extent_t own = *extent;
    for (const int8_t *const end = in + n; in != end; in += FOUR, error += FOUR) {
        const uint32_t word = load_word(error), even = add_even_lanes(negative_zero, word),
                       odd = add_odd_lanes(negative_zero, word);
        const uint32_t two[2] = {low_lanes((uint32_t)sum_of_low_product(bias, even, (uint32_t)slopes[in[0]]),
                                           (uint32_t)sum_of_low_product(bias, odd, (uint32_t)slopes[in[1]])),
                                 low_lanes((uint32_t)sum_of_top_product(bias, even, (uint32_t)slopes[in[2]]),
                                           (uint32_t)sum_of_top_product(bias, odd, (uint32_t)slopes[in[3]]))};
        include(&own, two[0]);
        include(&own, two[1]);
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

/* R(a, m, n) for n in 17..24, of sums with a bias: the product with m * 2^(32 - n) has 16 bits of fraction after SMLAW,
   of which the bias has none. */
static void write_half(const int8_t *sums, uint32_t n, affine8_factor_t factor, int32_t zero, int32_t bias,
                       int8_t *out) {
    const int32_t multiplier = byte_multiplier(factor);
    const int32_t start = (int32_t)((uint32_t)zero << 16) + (1 << 15) - (int32_t)(((int64_t)bias * multiplier) >> 16);
    for (const int8_t *const end = out + n; out != end; out += FOUR, sums += 2 * WORD) {
        uint32_t two[2];
        load_two(sums, two);
        out[0] = (int8_t)upper_as_byte(add_wide_low_product(start, multiplier, two[0]));
        out[1] = (int8_t)upper_as_byte(add_wide_top_product(start, multiplier, two[0]));
        out[2] = (int8_t)upper_as_byte(add_wide_low_product(start, multiplier, two[1]));
        out[3] = (int8_t)upper_as_byte(add_wide_top_product(start, multiplier, two[1]));
    }
}

static void write_half_by_any(const int8_t *sums, uint32_t n, affine8_factor_t factor, int32_t zero, int32_t bias,
                              int8_t *out) {
    for (const int8_t *const end = out + n; out != end; out += 2, sums += WORD) {
        const uint32_t lanes = load_word(sums);
        out[0] = any_byte(lane_s16(lanes, 0) - bias, factor, zero);
        out[1] = any_byte(lane_s16(lanes, 1) - bias, factor, zero);
    }
}

static void write(const void *context, uint32_t n, affine8_factor_t factor, int8_t zero) {
    const affine8_sloped_t *sloped = context;
    const uint32_t half = half_of(n);
    const int32_t bias = bias_of(sloped);
    const bool quick = byte_is_quick(factor) && factor.n <= 24;
    (quick ? write_half : write_half_by_any)(sloped->out, half, factor, zero, bias, sloped->out);
    (quick ? write_half : write_half_by_any)(sloped->error, half, factor, zero, bias, sloped->out + half);
    for (uint32_t i = 2 * half; i < n; i++) {
        sloped->out[i] = any_byte(affine8_sloped(sloped, i), factor, zero);
    }
}

const affine8_passes_t affine8_sloped_passes = {.measure = measure, .write = write};

#endif
