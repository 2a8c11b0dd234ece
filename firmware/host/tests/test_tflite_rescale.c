#include "arith/rescale.h"
#include "check.h"
#include "kernels/requantize.h"
#include "naive.h"
#include "naive_tflite.h"

static void check_rescale(int32_t acc, int32_t multiplier, int32_t shift) {
    const int64_t twice = rescale_double(acc, multiplier, shift), once = rescale_single(acc, multiplier, shift);
    CHECK(twice == naive_rescale_double(acc, multiplier, shift), "double, %d * %d, shift %d: %lld", acc, multiplier,
          shift, (long long)twice);
    CHECK(once == naive_rescale_single(acc, multiplier, shift), "single, %d * %d, shift %d: %lld", acc, multiplier,
          shift, (long long)once);
}

/* The examples of the text, by hand. */
static void test_examples(void) {
    static const int32_t quarter[][3] = {{1, 1, 0},    {-2, -1, 0}, {5, 2, 1},   {4, 1, 1},
                                         {-4, -1, -1}, {6, 2, 2},   {-6, -2, -1}};
    for (size_t i = 0; i < sizeof quarter / sizeof quarter[0]; i++) {
        CHECK(rescale_double(quarter[i][0], 1 << 30, -1) == quarter[i][1], "double of %d / 4", quarter[i][0]);
        CHECK(rescale_single(quarter[i][0], 1 << 30, -1) == quarter[i][2], "single of %d / 4", quarter[i][0]);
    }
    CHECK(rescale_double(-1, 1 << 30, 0) == 0 && rescale_double(1, 1 << 30, 0) == 1, "the first step: halves go up");
    CHECK(rescale_double(INT32_MIN, 1 << 30, -31) == -1, "double of -1/2 at the last shift");
    CHECK(rescale_single(INT32_MIN, 1 << 30, -31) == 0, "single of -1/2 at the last shift");
    CHECK(rescale_double(1 << 20, 1 << 30, 30) == 1 << 30, "beyond int32 the shifted sum saturates");
    CHECK(rescale_single(1 << 20, 1 << 30, 30) == INT64_C(1) << 49, "rounded once, nothing does");
}

/* Every sum of a small range, and those around every power of two, with multipliers at both ends and at every shift. */
static void test_all_shifts(void) {
    static const int32_t multipliers[] = {1 << 30, (1 << 30) + 1, 0x55555555, 0x60000000, INT32_MAX - 1, INT32_MAX};
    for (int32_t shift = -31; shift <= 30; shift++) {
        for (size_t m = 0; m < sizeof multipliers / sizeof multipliers[0]; m++) {
            for (int32_t acc = -300; acc <= 300; acc++) {
                check_rescale(acc, multipliers[m], shift);
            }
            for (int32_t n = 0; n < 31; n++) {
                const int32_t power = (int32_t)naive_power(n);
                for (int32_t d = -2; d <= 1; d++) {
                    check_rescale(power + d, multipliers[m], shift);
                    check_rescale(-power - d, multipliers[m], shift);
                }
            }
            check_rescale(INT32_MAX, multipliers[m], shift);
            check_rescale(INT32_MIN, multipliers[m], shift);
        }
    }
}

static void test_random(void) {
    for (int round = 0; round < 200000; round++) {
        const int32_t bound = (int32_t)(naive_power(draw(1, 31)) - 1);
        check_rescale(draw(-bound, bound), draw(1 << 30, INT32_MAX), draw(-31, 30));
    }
}

/* Sums that are exact ties of the last rounding: with a multiplier of 2^30, rescale divides by 2^(1 - shift). */
static void test_ties(void) {
    for (int32_t n = 2; n <= 31; n++) {
        for (int32_t k = -300; k <= 300; k++) {
            const int64_t tie = (2 * k + 1) * naive_power(n - 1);
            if (tie == naive_sat32(tie)) {
                const int64_t twice = k >= 0 ? k + 1 : k, once = k + 1; /* half away from zero; half up */
                CHECK(rescale_double((int32_t)tie, 1 << 30, 1 - n) == twice, "double, tie %d + 1/2 at %d", k, n);
                CHECK(rescale_single((int32_t)tie, 1 << 30, 1 - n) == once, "single, tie %d + 1/2 at %d", k, n);
            }
        }
    }
}

/* The whole way to int8, in every geometry, with clamps and zero points at their ends. */
static void test_requantize(void) {
    for (int round = 0; round < 6000; round++) {
        const uint32_t positions = (uint32_t)draw(1, 20), first = (uint32_t)draw(0, 3), channels = (uint32_t)draw(1, 6);
        const uint32_t step = first + channels + (uint32_t)draw(0, 3), n = positions * channels;
        const int32_t length = draw(1, 31), any = draw(0, 2), bound = (int32_t)(naive_power(length) - 1);
        int32_t *sums = take(n * sizeof *sums), bias[9], multiplier[9];
        int8_t shift[9], *out = take((positions - 1) * step + channels);
        for (uint32_t c = 0; c < first + channels; c++) {
            bias[c] = draw(0, 2) == 0 ? draw(-bound, bound) : draw(-99, 99);
            multiplier[c] = draw(0, 2) == 0 ? 1 << 30 : draw(1 << 30, INT32_MAX);
            if (draw(0, 3) == 0) { /* halves of 16 bits that round up, down or neither */
                multiplier[c] = (multiplier[c] & ~0xFFFF) + 0x8000 + draw(-1, 1);
            }
            const int32_t near = 7 - length + draw(-2, 2); /* to int8 and a little beyond */
            shift[c] = (int8_t)(any == 0 ? draw(-31, 30) : near);
        }
        for (uint32_t i = 0; i < n; i++) {
            sums[i] = draw(0, 3) == 0 ? (draw(0, 1) == 0 ? bound : -bound) : draw(-bound, bound);
            if (draw(0, 3) == 0) { /* about the ends of 16, 17 and 30 bits, where an Armv6-M goes another way */
                const int32_t end = 1 << (draw(0, 2) == 0 ? 29 : draw(15, 16));
                sums[i] = (int32_t)((uint32_t)((draw(0, 1) == 0 ? end : -end) + draw(-1, 1)) -
                                    (uint32_t)bias[i / positions + first]);
            }
        }
        const int32_t act_min = draw(0, 1) == 0 ? -128 : draw(-128, 127),
                      act_max = draw(0, 1) == 0 ? 127 : draw(act_min, 127);
        const tflite_layer_t layer = {.output_zero = (int8_t)(draw(0, 3) == 0 ? -128 : draw(-128, 127)),
                                      .act_min = (int8_t)act_min,
                                      .act_max = (int8_t)act_max,
                                      .bias = bias,
                                      .multiplier = multiplier,
                                      .shift = shift};
        for (int single = 0; single <= 1; single++) {
            requantize_channels_t *const requantize = single ? requantize_channels_single_s8 : requantize_channels_s8;
            requantize(sums, positions, first, channels, &layer, step, out);
            for (uint32_t i = 0; i < n; i++) {
                const uint32_t c = i / positions, p = i % positions, at = first + c;
                const int32_t acc = (int32_t)((uint32_t)sums[i] + (uint32_t)bias[at]);
                const int64_t scaled =
                    (single ? naive_rescale_single : naive_rescale_double)(acc, multiplier[at], shift[at]);
                const int64_t expected = naive_clamp(scaled + layer.output_zero, act_min, act_max);
                CHECK(out[p * step + c] == expected, "sum %d, multiplier %d, shift %d: %d, not %lld", acc,
                      multiplier[at], shift[at], out[p * step + c], (long long)expected);
            }
        }
        free(sums);
        free(out);
    }
}

void test_tflite_rescale(void) {
    test_examples();
    test_all_shifts();
    test_random();
    test_ties();
    test_requantize();
}
