#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include <stddef.h>

#include "kernels/affine8.h"

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
        "push {r4-r7, lr}\n"                                                                                           \
        "mov r4, r8\n"                                                                                                 \
        "mov r5, r10\n"                                                                                                \
        "mov r6, r11\n"                                                                                                \
        "push {r4-r6}\n"                                                                                               \
        "ldm r0!, {r3-r7}\n"                                                                                           \
        "ldm r0!, {r1, r2}\n"                                                                                          \
        "mov r8, r1\n"                                                                                                 \
        "mov r10, r2\n"                                                                                                \
        "ldm r0!, {r1, r2}\n"                                                                                          \
        "mov r11, r1\n"                                                                                                \
        "mov r12, r2\n"                                                                                                \
        "ldr r1, [r0]\n"                                                                                               \
        "mov lr, r1\n"                                                                                                 \
        "1:\n"                                                                                                         \
        "ldm r3!, {r0}\n"                                                                                              \
        "add r0, r8\n"                                                                                                 \
        "uxth r1, r0\n"                                                                                                \
        "muls r1, r5\n"                                                                                                \
        "lsrs r1, r1, #16\n"                                                                                           \
        "asrs r0, r0, #16\n"                                                                                           \
        "muls r0, r5\n"                                                                                                \
        "adds r0, r0, r1\n"                                                                                            \
        "asrs r0, r7\n" add                                                                                            \
        " r0, r6\n"                                                                                                    \
        "cmp r0, r10\n"                                                                                                \
        "bhi 4f\n"                                                                                                     \
        "3:\n"                                                                                                         \
        "add r0, r11\n"                                                                                                \
        "strb r0, [r4]\n"                                                                                              \
        "add r4, r12\n"                                                                                                \
        "cmp r3, lr\n"                                                                                                 \
        "bne 1b\n"                                                                                                     \
        "pop {r4-r6}\n"                                                                                                \
        "mov r8, r4\n"                                                                                                 \
        "mov r10, r5\n"                                                                                                \
        "mov r11, r6\n"                                                                                                \
        "pop {r4-r7, pc}\n"                                                                                            \
        "4:\n" /* beyond a limit: 0 below, else the range */                                                           \
        "asrs r1, r0, #31\n"                                                                                           \
        "mov r0, r10\n"                                                                                                \
        "bics r0, r1\n"                                                                                                \
        "b 3b\n")

__attribute__((naked)) static void run_nearest(const run_t *run __attribute__((unused))) {
    RUN("adcs");
}

__attribute__((naked)) static void run_down(const run_t *run __attribute__((unused))) {
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

#endif
