#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "arith/clip127.h"
#include "arith/psto_shift.h"
#include "kernels/requantize.h"
#include "kernels/updates.h"

/* PstoShift by s >= 1 of a magnitude m < 2^31. For an odd s the lower half of the dropped bits counts twice, so that 2
   m shifted by s + 1 rounds as m shifted by s: both halves have `half` = (s + 1) / 2 bits, m is shifted left by `odd`.
   Adding 2^half - 1 - lo to m >> half carries into bit `half` where the upper dropped bits are greater than the lower,
   lo. */
#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* 27 instructions a weight, 16 where the gradient rounds to 0, as most do: a weight is never -128 and stays as it is.
   r0 the weights, r1 the gradients, r2 m, r3 its sign, r4 free, r5 2^half - 1, r6 half, r7 odd, r8 the end of the
   gradients, r9 127, r12 254. On the stack: +28 odd. At least one gradient. */
__attribute__((naked)) static void update(int8_t *weights __attribute__((unused)),
                                          const int32_t *gradient __attribute__((unused)),
                                          uint32_t n __attribute__((unused)), uint32_t half __attribute__((unused)),
                                          uint32_t odd __attribute__((unused))) {
    __asm__(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "push {r4, r5}\n"
        "ldr r7, [sp, #28]\n"
        "lsls r2, r2, #2\n"
        "adds r2, r2, r1\n"
        "mov r8, r2\n"
        "movs r2, #127\n"
        "mov r9, r2\n"
        "movs r2, #254\n"
        "mov r12, r2\n"
        "movs r6, r3\n"
        "movs r5, #1\n"
        "lsls r5, r6\n"
        "subs r5, r5, #1\n"
        "1:\n"
        "ldm r1!, {r2}\n"
        "asrs r3, r2, #31\n"
        "adds r2, r2, r3\n"
        "eors r2, r3\n"
        "lsls r2, r7\n"
        "movs r4, r2\n"
        "ands r4, r5\n"
        "lsrs r2, r6\n"
        "adds r2, r2, r5\n"
        "subs r2, r2, r4\n"
        "lsrs r2, r6\n"
        "beq 3f\n"
        "lsrs r4, r2, #7\n" /* 128 becomes 127 */
        "subs r2, r2, r4\n"
        "eors r2, r3\n"
        "subs r2, r2, r3\n"
        "movs r4, #0\n"
        "ldrsb r4, [r0, r4]\n"
        "subs r4, r4, r2\n"
        "add r4, r9\n"
        "cmp r4, r12\n"
        "bhi 4f\n"
        "2:\n"
        "subs r4, #127\n"
        "strb r4, [r0]\n"
        "3:\n"
        "adds r0, r0, #1\n"
        "cmp r1, r8\n"
        "bne 1b\n"
        "pop {r4, r5}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "pop {r4-r7, pc}\n"
        "4:\n" /* beyond -127 or 127 */
        "asrs r3, r4, #31\n"
        "mov r4, r12\n"
        "bics r4, r3\n"
        "b 2b\n");
}

#else

static void update(int8_t *weights, const int32_t *gradient, uint32_t n, uint32_t half, uint32_t odd) {
    const uint32_t full = (1u << half) - 1;
    for (const int32_t *const end = gradient + n; gradient != end; gradient++, weights++) {
        const uint32_t m = magnitude(*gradient) << odd;
        const uint32_t rounded = ((m >> half) + full - (m & full)) >> half;
        const int32_t g = (int32_t)(rounded - (rounded >> 7)); /* 128 becomes 127 */
        *weights = (int8_t)clip127(*weights - (*gradient < 0 ? -g : g));
    }
}

#endif

void bp_update_s8(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b_bp) {
    const int32_t b = largest_bits_s32(gradient, n);
    if (b == 0) {
        return;
    }
    const int32_t s = b - b_bp;
    if (s >= 1 && b < 32) {
        update(weights, gradient, n, (uint32_t)(s + 1) / 2, (uint32_t)s % 2);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const int32_t g = s < 1 ? gradient[i] : psto_shift(gradient[i], s);
        weights[i] = (int8_t)clip127(weights[i] - g);
    }
}

#endif
