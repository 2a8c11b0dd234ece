/* Sums to values of 8 bits, by output channel, and the biases that they begin with: docs/arithmetic-tflite.md,
   section 3. */
#include "kernels/requantize.h"

#include <stddef.h>

#include "arith/rescale.h"
#include "kernels/dsp.h"

#if KERNELS_DSP

/* Each kind of channel has its registers for itself. */
/* Any shift and any limits of channel `c`. */
SEPARATE static void any_channel(const int32_t *sums, uint32_t positions, uint32_t c, const tflite_layer_t *layer,
                                 uint32_t step, int8_t *out) {
    const int32_t zero = layer->output_zero, least = layer->act_min - zero, most = layer->act_max - zero;
    const int32_t multiplier = layer->multiplier[c], shift = layer->shift[c];
    for (uint32_t p = 0; p < positions; p++) {
        int32_t value = rescale_double((int32_t)((uint32_t)sums[p] + (uint32_t)layer->bias[c]), multiplier, shift);
        value = value > most ? most : value;
        value = value < least ? least : value;
        out[p * step] = (int8_t)(value + zero);
    }
}

/* One sum that is shifted right by `right` + 1. A high product times 2^-right, with one taken from negative ones, plus
   1 and then halved is rounded half away from zero; the zero point comes in doubled, with that 1,
   before the halving. */
static inline int32_t one_byte(int32_t sum, int32_t bias, int32_t doubled, int32_t right, int32_t zero_and_half) {
    const int32_t acc = (int32_t)((uint32_t)sum + (uint32_t)bias);
    const int32_t high = add_high_product(acc, doubled);
    return half_as_byte(add_saturating((high + (high >> 31)) >> right, zero_and_half));
}

/* Channel `c`, which is shifted right and has all of int8. The high product takes twice the multiplier, less 2^32. */
SEPARATE static void common_channel(const int32_t *sums, uint32_t positions, uint32_t c, const tflite_layer_t *layer,
                                    uint32_t step, int8_t *out) {
    const int32_t bias = layer->bias[c], right = -layer->shift[c] - 1, zero = 2 * layer->output_zero + 1;
    const int32_t doubled = (int32_t)(2u * (uint32_t)layer->multiplier[c]);
    const int32_t *const fours = sums + positions / 4 * 4, *const end = sums + positions;
    while (sums != fours) {
        out[0] = (int8_t)one_byte(sums[0], bias, doubled, right, zero);
        out[step] = (int8_t)one_byte(sums[1], bias, doubled, right, zero);
        out[2 * step] = (int8_t)one_byte(sums[2], bias, doubled, right, zero);
        out[3 * step] = (int8_t)one_byte(sums[3], bias, doubled, right, zero);
        sums += 4;
        out += 4 * step;
    }
    while (sums != end) {
        *out = (int8_t)one_byte(*sums++, bias, doubled, right, zero);
        out += step;
    }
}

void requantize_channels_s8(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                            const tflite_layer_t *layer, uint32_t step, int8_t *out) {
    const uint32_t limited = layer->act_min != -128 || layer->act_max != 127;
    for (uint32_t c = first; c < first + channels; c++) {
        if (limited || layer->shift[c] >= 0) {
            any_channel(sums, positions, c, layer, step, out);
        } else {
            common_channel(sums, positions, c, layer, step, out);
        }
        sums += positions;
        out++;
    }
}

#elif KERNELS_THUMB1

/* Any sum and any shift of channel `c`. */
SEPARATE static int32_t any_sum(int32_t acc, uint32_t c, const tflite_layer_t *layer) {
    const int32_t multiplier = layer->multiplier[c], shift = layer->shift[c];
    const int32_t zero = layer->output_zero, least = layer->act_min - zero, most = layer->act_max - zero;
    int32_t value = rescale_double(acc, multiplier, shift);
    value = value > most ? most : value;
    value = value < least ? least : value;
    return value + zero;
}

/* Sums of a channel that is shifted right by `right` + 1. A multiplication of 64 bits is a call on this core, so the
   multiplier comes in halves, 2^16 * high + low: high in 2^14..2^15, low in -2^15 + 1..2^15. */
typedef struct {
    const int32_t *sums;
    int8_t *out;
    int32_t low, high, right;
    uint32_t bias;
    int32_t zero_and_half; /* twice (the output's zero point - least) + 1 */
    uint32_t range;        /* act_max - act_min */
    int32_t least;         /* act_min */
    uint32_t step;
    const int32_t *end;
} run_t;

/* Sums up to the end, or up to one that with its bias is outside of -2^29..2^29 - 1; moves `sums` and `out` there.

   floor((acc * (2^16 * high + low) + 2^30) / 2^31) is made of two products where acc is in -2^16..2^16 - 1, as almost
   all sums of depthwise are, else of four. The rounding is that of the DSP form: one off negative ones,
   the zero point and a half doubled, then a halving. What comes out lies above `least`, so that one comparison without
   sign finds both limits passed. */
#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

_Static_assert(offsetof(run_t, bias) == 20 && offsetof(run_t, end) == 40, "the assembly knows the fields");

/* 23 instructions a value, 37 with four products. r0-r2 the value, r3 sums, r4 out, r5 low, r6 high, r7 right, r8 bias,
   r9 zero_and_half, r10 range, r11 least, r12 step, lr the end. */
__attribute__((naked)) static void requantize_run(run_t *run) {
    __asm__(
        ".syntax unified\n"
        "push {r4-r7, lr}\n mov r4, r8\n mov r5, r9\n mov r6, r10\n"
        "mov r7, r11\n"
        "push {r0, r4-r7}\n"
        "ldm r0!, {r3-r7}\n ldm r0!, {r1, r2}\n mov r8, r1\n mov r9, r2\n"
        "ldm r0!, {r1, r2}\n mov r10, r1\n mov r11, r2\n"
        "ldm r0!, {r1, r2}\n mov r12, r1\n mov lr, r2\n"
        "cmp r3, lr\n beq 6f\n"
        "1:\n ldm r3!, {r0}\n add r0, r8\n asrs r1, r0, #31\n asrs r2, r0, #16\n"
        "cmp r1, r2\n bne 5f\n"
        "mov r2, r0\n muls r2, r5\n asrs r2, r2, #16\n muls r0, r6\n"
        "adds r0, r0, r2\n"
        "asrs r0, r0, #15\n" /* the half is in the carry */
        "adcs r0, r1\n"
        "2:\n asrs r0, r7\n add r0, r9\n asrs r0, r0, #1\n"
        "cmp r0, r10\n bhi 4f\n"
        "3:\n add r0, r11\n strb r0, [r4]\n"
        "add r4, r12\n"
        "cmp r3, lr\n bne 1b\n"
        "b 6f\n"
        "4:\n" /* beyond a limit: 0 below, else the range */
        "asrs r1, r0, #31\n mov r0, r10\n bics r0, r1\n b 3b\n"
        "5:\n" /* four products: r0 the upper half of the sum, r2 the lower, signed */
        "asrs r2, r0, #29\n"
        "cmp r1, r2\n bne 7f\n"
        "sxth r2, r0\n subs r0, r0, r2\n asrs r0, r0, #16\n"
        "mov r1, r2\n muls r1, r5\n asrs r1, r1, #16\n muls r2, r6\n"
        "adds r2, r2, r1\n mov r1, r0\n muls r1, r5\n adds r2, r2, r1\n"
        "muls r0, r6\n lsls r0, r0, #1\n asrs r2, r2, #15\n adcs r0, r2\n"
        "asrs r1, r0, #31\n adds r0, r0, r1\n b 2b\n"
        "7:\n" /* this one is not for here */
        "subs r3, #4\n"
        "6:\n"
        "pop {r0}\n"
        "stm r0!, {r3, r4}\n"
        "pop {r4-r7}\n mov r8, r4\n mov r9, r5\n mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#else

/* x / 2^15, a half upwards. */
static inline int32_t in_steps(int32_t x) {
    return (x >> 15) + (x >> 14 & 1);
}

static inline int32_t product_in_steps(int32_t acc, int32_t high, int32_t low) {
    if (acc >> 16 == acc >> 31) {
        return in_steps(acc * high + ((acc * low) >> 16));
    }
    const int32_t acc_low = (int16_t)(acc & 0xFFFF), acc_high = (acc - acc_low) >> 16;
    return 2 * (acc_high * high) + in_steps(acc_low * high + ((acc_low * low) >> 16) + acc_high * low);
}

static void requantize_run(run_t *run) {
    for (; run->sums != run->end; run->sums++, run->out += run->step) {
        const int32_t acc = (int32_t)((uint32_t)*run->sums + run->bias);
        if (acc >> 29 != acc >> 31) {
            return;
        }
        const int32_t product = product_in_steps(acc, run->high, run->low);
        int32_t value = (((product + (product >> 31)) >> run->right) + run->zero_and_half) >> 1;
        if ((uint32_t)value > run->range) {
            value = value < 0 ? 0 : (int32_t)run->range;
        }
        *run->out = (int8_t)(value + run->least);
    }
}

#endif

static void shifted_right(const int32_t *sums, uint32_t positions, uint32_t c, const tflite_layer_t *layer,
                          uint32_t step, int8_t *out) {
    const int32_t multiplier = layer->multiplier[c], high = (int32_t)(((uint32_t)multiplier + 0x7FFF) >> 16);
    run_t run = {.sums = sums,
                 .out = out,
                 .low = (int32_t)((uint32_t)multiplier - ((uint32_t)high << 16)),
                 .high = high,
                 .right = -layer->shift[c] - 1,
                 .bias = (uint32_t)layer->bias[c],
                 .zero_and_half = 2 * (layer->output_zero - layer->act_min) + 1,
                 .range = (uint32_t)(layer->act_max - layer->act_min),
                 .least = layer->act_min,
                 .step = step,
                 .end = sums + positions};
    for (requantize_run(&run); run.sums != run.end; requantize_run(&run)) {
        *run.out = (int8_t)any_sum((int32_t)((uint32_t)*run.sums++ + run.bias), c, layer);
        run.out += step;
    }
}

void requantize_channels_s8(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                            const tflite_layer_t *layer, uint32_t step, int8_t *out) {
    for (uint32_t c = first; c < first + channels; c++) {
        if (layer->shift[c] < 0) {
            shifted_right(sums, positions, c, layer, step, out);
        } else {
            for (uint32_t p = 0; p < positions; p++) {
                const int32_t acc = (int32_t)((uint32_t)sums[p] + (uint32_t)layer->bias[c]);
                out[p * step] = (int8_t)any_sum(acc, c, layer);
            }
        }
        sums += positions;
        out++;
    }
}

#else

void requantize_channels_s8(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                            const tflite_layer_t *layer, uint32_t step, int8_t *out) {
    const int32_t zero = layer->output_zero;
    const int32_t least = layer->act_min - zero,
                  most = layer->act_max - zero; /* before the zero point is added: no overflow */
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t bias = (uint32_t)layer->bias[first + c];
        const int32_t multiplier = layer->multiplier[first + c], shift = layer->shift[first + c];
        for (uint32_t p = 0; p < positions; p++) {
            int32_t value = rescale_double((int32_t)((uint32_t)*sums++ + bias), multiplier, shift);
            value = value > most ? most : value;
            value = value < least ? least : value;
            out[p * step + c] = (int8_t)(value + zero);
        }
    }
}

#endif

void requantize_channels_single_s8(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                   const tflite_layer_t *layer, uint32_t step, int8_t *out) {
    const int64_t zero = layer->output_zero;
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t bias = (uint32_t)layer->bias[first + c];
        const int32_t multiplier = layer->multiplier[first + c], shift = layer->shift[first + c];
        for (uint32_t p = 0; p < positions; p++) {
            int64_t value = rescale_single((int32_t)((uint32_t)*sums++ + bias), multiplier, shift) + zero;
            value = value > layer->act_max ? layer->act_max : value;
            value = value < layer->act_min ? layer->act_min : value;
            out[p * step + c] = (int8_t)value;
        }
    }
}

static int32_t sum_apart(const int8_t *weights, uint32_t n, uint32_t step) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += weights[i * step];
    }
    return sum;
}

/* Of `words` words of weights, fewer than 2^8: bytes with 128 added, in lanes of 16 bits. */
static int32_t sum_words(const int8_t *weights, uint32_t words) {
    weights = __builtin_assume_aligned(weights, 4);
    uint32_t even = 0, odd = 0;
    for (uint32_t i = 0; i < words; i++) {
        const uint32_t turned = load_word(weights + 4 * i) ^ 0x80808080u;
        even += turned & 0x00FF00FFu;
        odd += turned >> 8 & 0x00FF00FFu;
    }
    const uint32_t sum = (even & 0xFFFFu) + (even >> 16) + (odd & 0xFFFFu) + (odd >> 16);
    return (int32_t)sum - (int32_t)(4 * 128 * words);
}

/* Contiguous weights. */
static int32_t sum_together(const int8_t *weights, uint32_t n) {
    uint32_t taken = (0u - (uint32_t)(uintptr_t)weights) & 3u; /* to where a word begins */
    taken = taken < n ? taken : n;
    int32_t sum = sum_apart(weights, taken, 1);
    while (n - taken >= 4) {
        const uint32_t words = (n - taken) / 4 < 255 ? (n - taken) / 4 : 255;
        sum += sum_words(weights + taken, words);
        taken += 4 * words;
    }
    return sum + sum_apart(weights + taken, n - taken, 1);
}

void tflite_fold_bias(const int32_t *bias, const int8_t *weights, uint32_t taps, uint32_t tap_step, uint32_t channels,
                      uint32_t channel_step, int8_t input_zero, int32_t *folded) {
    for (uint32_t o = 0; o < channels; o++) {
        const int8_t *const first = weights + o * channel_step;
        const int32_t sum = tap_step == 1 ? sum_together(first, taps) : sum_apart(first, taps, tap_step);
        folded[o] = (int32_t)((uint32_t)bias[o] - (uint32_t)input_zero * (uint32_t)sum);
    }
}

void tflite_fold_bias_sums(const int32_t *bias, const int32_t *sums, int8_t input_zero, uint32_t channels,
                           int32_t *folded) {
    for (uint32_t o = 0; o < channels; o++) {
        folded[o] = (int32_t)((uint32_t)bias[o] - (uint32_t)input_zero * (uint32_t)sums[o]);
    }
}
