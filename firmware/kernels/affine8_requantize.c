/* Sums to values of 8 bits in the format affine8: docs/arithmetic-affine8.md, sections 3 and 7. */
#include "kernels/affine8.h"

#include <stddef.h>

#include "kernels/affine8_sums.h"
#include "kernels/dsp.h"

#if KERNELS_DSP

/* Each kind of sums has its registers for itself. */
/* Sums that become outputs `step` apart; those of different biases lie one after the other, as the biases do. */
typedef struct {
    const int32_t *sums, *end;
    const int32_t *bias;
    uint32_t step;
    int8_t *out;
    int32_t zero, least, most;
    affine8_factor_t factor;
} run_t;

static inline int32_t held(int32_t value, const run_t *run) {
    const int32_t enough = value < run->least ? run->least : value;
    return enough > run->most ? run->most : enough;
}

/* R(a, m, n) + z for n in 17..32: the upper word of a * m * 2^(32 - n), plus z. */
static inline int32_t one_byte(int32_t sum, int32_t bias, int32_t multiplier, bool common, const run_t *run) {
    const int32_t acc = (int32_t)((uint32_t)sum + (uint32_t)bias);
    if (common) {
        return quick_byte(acc, multiplier, run->zero);
    }
    return held(run->factor.floors ? sum_of_upper_product(run->zero, acc, multiplier)
                                   : sum_of_nearest_product(run->zero, acc, multiplier),
                run);
}

static inline void all_bytes(run_t run, bool common, bool alike) {
    const int32_t multiplier = (int32_t)((uint32_t)run.factor.m << (32 - run.factor.n)), bias = *run.bias;
    const uint32_t step = run.step, next = alike ? 0 : 1;
    const int32_t *sums = run.sums, *const end = run.end, *const fours = sums + (end - sums) / 4 * 4;
    int8_t *out = run.out;
    for (; sums != fours; sums += 4, run.bias += 4 * next) {
        const int32_t *const b = run.bias;
        out[0] = (int8_t)one_byte(sums[0], alike ? bias : b[0], multiplier, common, &run);
        out[step] = (int8_t)one_byte(sums[1], alike ? bias : b[1], multiplier, common, &run);
        out[2 * step] = (int8_t)one_byte(sums[2], alike ? bias : b[2], multiplier, common, &run);
        out[3 * step] = (int8_t)one_byte(sums[3], alike ? bias : b[3], multiplier, common, &run);
        out += 4 * step;
    }
    for (; sums != end; sums++, run.bias += next) {
        *out = (int8_t)one_byte(*sums, alike ? bias : *run.bias, multiplier, common, &run);
        out += step;
    }
}

/* Rounded to nearest, with all of int8: one bias, or many. */
SEPARATE static void common_bytes(const run_t *run) {
    all_bytes(*run, true, true);
}

SEPARATE static void common_biased_bytes(const run_t *run) {
    all_bytes(*run, true, false);
}

SEPARATE static void limited_bytes(const run_t *run) {
    all_bytes(*run, false, true);
}

SEPARATE static void limited_biased_bytes(const run_t *run) {
    all_bytes(*run, false, false);
}

/* Any factor. */
SEPARATE static void any_bytes(const run_t *run, bool alike) {
    const int32_t *bias = run->bias;
    int8_t *out = run->out;
    for (const int32_t *sums = run->sums; sums != run->end; sums++, out += run->step, bias += alike ? 0 : 1) {
        const int32_t acc = (int32_t)((uint32_t)*sums + (uint32_t)*bias);
        *out = (int8_t)held(run->zero + affine8_rescale(acc, run->factor), run);
    }
}

static void put_bytes(const run_t *run, bool alike) {
    if (run->factor.n < 17 || run->factor.n > 32) {
        any_bytes(run, alike);
    } else if (!run->factor.floors && run->least == INT8_MIN && run->most == INT8_MAX) {
        (alike ? common_bytes : common_biased_bytes)(run);
    } else {
        (alike ? limited_bytes : limited_biased_bytes)(run);
    }
}

void affine8_requantize_channels(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                 const affine8_layer_t *layer, uint32_t step, int8_t *out) {
    run_t run = {.sums = sums,
                 .bias = layer->bias + first,
                 .step = step,
                 .out = out,
                 .zero = layer->output_zero,
                 .least = layer->least,
                 .most = layer->most,
                 .factor = layer->factor};
    if (positions == 1) {
        run.end = sums + channels;
        run.step = 1;
        put_bytes(&run, false);
        return;
    }
    for (uint32_t c = 0; c < channels; c++, run.bias++, run.out++) {
        run.end = run.sums + positions;
        put_bytes(&run, true);
        run.sums = run.end;
    }
}

/* Of sums that all become bytes without a clamp. */
SEPARATE static void bytes_within(const int32_t *sums, uint32_t n, int32_t multiplier, int32_t zero, int8_t *out) {
    const int32_t *const eights = sums + n / 8 * 8;
    out = pack_bytes_within(sums, eights, multiplier, zero, out);
    for (uint32_t i = 0; i < n % 8; i++) {
        out[i] = quick_byte(eights[i], multiplier, zero);
    }
}

SEPARATE static void bytes_of_sums(const int32_t *sums, uint32_t n, int32_t multiplier, int32_t zero, int8_t *out) {
    const int32_t *const end = sums + n, *const fours = sums + n / 4 * 4;
    for (; sums != fours; out += 4) {
        int32_t four[4];
        sums = take_four(sums, four);
        out[0] = quick_byte(four[0], multiplier, zero);
        out[1] = quick_byte(four[1], multiplier, zero);
        out[2] = quick_byte(four[2], multiplier, zero);
        out[3] = quick_byte(four[3], multiplier, zero);
    }
    while (sums != end) {
        *out++ = quick_byte(*sums++, multiplier, zero);
    }
}

void affine8_requantize_s32(const int32_t *sums, uint32_t n, affine8_factor_t factor, int8_t zero, bool within,
                            int8_t *out) {
    if (byte_is_quick(factor)) {
        (within ? bytes_within : bytes_of_sums)(sums, n, byte_multiplier(factor), zero, out);
        return;
    }
    const int32_t none = 0;
    const run_t run = {.sums = sums,
                       .end = sums + n,
                       .bias = &none,
                       .step = 1,
                       .out = out,
                       .zero = zero,
                       .least = INT8_MIN,
                       .most = INT8_MAX,
                       .factor = factor};
    put_bytes(&run, true);
}

#elif KERNELS_THUMB1

/* Sums of one bias that become outputs `step` apart. */
typedef struct {
    const int32_t *sums;
    int8_t *out;
    uint32_t m;
    int32_t zero;         /* the output's zero point - least */
    int32_t right;        /* n - 16 */
    uint32_t bias, range; /* range: most - least */
    int32_t least;
    uint32_t step;
    const int32_t *end; /* one sum at least */
} run_t;

/* The product with m comes in two halves. Below 2^-16 nothing counts but the bit that the last shift drops last: so
   p = floor(acc * m / 2^16), and R is p >> right, and one more with the carry. What comes out lies above `least`, so
   that one comparison without sign finds both limits passed. */
#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

_Static_assert(offsetof(run_t, bias) == 20 && offsetof(run_t, end) == 36, "the assembly knows the fields");

/* 17 instructions a value. r0 and r1 the value, r3 sums, r4 out, r5 m, r6 zero, r7 right, r8 bias, r10 range, r11
   least, r12 step, lr the end. */
#define RUN(add)                                                                                                       \
    __asm__(                                                                                                           \
        ".syntax unified\n"                                                                                            \
        "push {r4-r7, lr}\n mov r4, r8\n mov r5, r10\n mov r6, r11\n"                                                  \
        "push {r4-r6}\n"                                                                                               \
        "ldm r0!, {r3-r7}\n ldm r0!, {r1, r2}\n mov r8, r1\n mov r10, r2\n"                                            \
        "ldm r0!, {r1, r2}\n mov r11, r1\n mov r12, r2\n"                                                              \
        "ldr r1, [r0]\n mov lr, r1\n"                                                                                  \
        "1:\n ldm r3!, {r0}\n add r0, r8\n uxth r1, r0\n muls r1, r5\n"                                                \
        "lsrs r1, r1, #16\n asrs r0, r0, #16\n muls r0, r5\n adds r0, r0, r1\n"                                        \
        "asrs r0, r7\n" add                                                                                            \
        " r0, r6\n"                                                                                                    \
        "cmp r0, r10\n bhi 4f\n"                                                                                       \
        "3:\n add r0, r11\n strb r0, [r4]\n"                                                                           \
        "add r4, r12\n"                                                                                                \
        "cmp r3, lr\n bne 1b\n"                                                                                        \
        "pop {r4-r6}\n mov r8, r4\n mov r10, r5\n mov r11, r6\n"                                                       \
        "pop {r4-r7, pc}\n"                                                                                            \
        "4:\n" /* beyond a limit: 0 below, else the range */                                                           \
        "asrs r1, r0, #31\n mov r0, r10\n bics r0, r1\n"                                                               \
        "b 3b\n")

__attribute__((naked)) static void run_nearest(const run_t *run) {
    RUN("adcs");
}

__attribute__((naked)) static void run_down(const run_t *run) {
    RUN("adds");
}

#else

static inline void run_any(const run_t *run, int32_t carries) {
    int8_t *out = run->out;
    for (const int32_t *sums = run->sums; sums != run->end; sums++, out += run->step) {
        const int32_t acc = (int32_t)((uint32_t)*sums + run->bias);
        const int32_t p = (acc >> 16) * (int32_t)run->m + (int32_t)(((uint32_t)acc & 0xFFFFu) * run->m >> 16);
        int32_t value = (p >> run->right) + (p >> (run->right - 1) & carries) + run->zero;
        if ((uint32_t)value > run->range) {
            value = value < 0 ? 0 : (int32_t)run->range;
        }
        *out = (int8_t)(value + run->least);
    }
}

static void run_nearest(const run_t *run) {
    run_any(run, 1);
}

static void run_down(const run_t *run) {
    run_any(run, 0);
}

#endif

/* `right` is 0, for which no shift leaves a carry. */
static void run_large(const run_t *run, affine8_factor_t factor) {
    int8_t *out = run->out;
    for (const int32_t *sums = run->sums; sums != run->end; sums++, out += run->step) {
        int32_t value = affine8_rescale((int32_t)((uint32_t)*sums + run->bias), factor) + run->zero;
        value = value<0 ? 0 : value>(int32_t) run->range ? (int32_t)run->range : value;
        *out = (int8_t)(value + run->least);
    }
}

static void put_bytes(const run_t *run, affine8_factor_t factor) {
    if (factor.n == 16) {
        run_large(run, factor);
    } else if (factor.floors) {
        run_down(run);
    } else {
        run_nearest(run);
    }
}

void affine8_requantize_channels(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                 const affine8_layer_t *layer, uint32_t step, int8_t *out) {
    run_t run = {.sums = sums,
                 .out = out,
                 .m = layer->factor.m,
                 .zero = layer->output_zero - layer->least,
                 .right = layer->factor.n - 16,
                 .range = (uint32_t)(layer->most - layer->least),
                 .least = layer->least,
                 .step = step};
    for (uint32_t c = first; c < first + channels; c++, run.out++) {
        run.bias = (uint32_t)layer->bias[c];
        run.end = run.sums + positions;
        put_bytes(&run, layer->factor);
        run.sums = run.end;
    }
}

void affine8_requantize_s32(const int32_t *sums, uint32_t n, affine8_factor_t factor, int8_t zero, bool within,
                            int8_t *out) {
    (void)within;
    const run_t run = {.sums = sums,
                       .out = out,
                       .m = factor.m,
                       .zero = zero - INT8_MIN,
                       .right = factor.n - 16,
                       .range = UINT8_MAX,
                       .least = INT8_MIN,
                       .step = 1,
                       .end = sums + n};
    if (n > 0) {
        put_bytes(&run, factor);
    }
}

#else

void affine8_requantize_channels(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                 const affine8_layer_t *layer, uint32_t step, int8_t *out) {
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t bias = (uint32_t)layer->bias[first + c];
        for (uint32_t p = 0; p < positions; p++) {
            const int32_t acc = (int32_t)((uint32_t)*sums++ + bias);
            const int32_t value = layer->output_zero + affine8_rescale(acc, layer->factor);
            out[p * step + c] = (int8_t)(value < layer->least  ? layer->least
                                         : value > layer->most ? layer->most
                                                               : value);
        }
    }
}

void affine8_requantize_s32(const int32_t *sums, uint32_t n, affine8_factor_t factor, int8_t zero, bool within,
                            int8_t *out) {
    (void)within;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t value = zero + affine8_rescale(sums[i], factor);
        out[i] = (int8_t)(value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value);
    }
}

#endif
