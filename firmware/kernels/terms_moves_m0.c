#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/terms_s8.h"

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* 5 instructions a product, and `scale`. r0 the terms, r1 their end, r2 the factor, r3 the shift, r6 the sums. */
#define MOVE_SUMS(sums, bytes, scale, add_or_subtract)                                                                 \
    __asm__(".syntax unified\n" \
            "push {r4-r7, lr}\n" sums \
            "negs r4, r1\n" /* n mod 8 terms the first time round */ \
            "movs r5, #7\n" \
            "ands r4, r5\n" \
            "movs r5, #" bytes "\n" \
            "muls r4, r5\n" \
            "lsls r1, r1, #3\n" \
            "adds r1, r1, r0\n" \
            "adr r5, 1f\n" \
            "adds r4, r4, r5\n" \
            "mov pc, r4\n" \
            ".balign 4\n" \
            "1:\n" EIGHT_TIMES("ldm r0!, {r4, r5}\n" \
                               "muls r5, r2\n" scale \
                               "ldr r7, [r6, r4]\n" add_or_subtract " r7, r7, r5\n" \
                               "str r7, [r6, r4]\n") \
            "cmp r0, r1\n" \
            "bne 1b\n" \
            "pop {r4-r7, pc}\n")

__attribute__((naked)) static void add_magnitudes(const term_t *terms __attribute__((unused)),
                                                  uint32_t n __attribute__((unused)),
                                                  int32_t by __attribute__((unused)),
                                                  uint32_t shift __attribute__((unused)),
                                                  int32_t *sums __attribute__((unused))) {
    MOVE_SUMS("ldr r6, [sp, #20]\n", "12", "lsrs r5, r3\n", "adds");
}

__attribute__((naked)) static void subtract_magnitudes(const term_t *terms __attribute__((unused)),
                                                       uint32_t n __attribute__((unused)),
                                                       int32_t by __attribute__((unused)),
                                                       uint32_t shift __attribute__((unused)),
                                                       int32_t *sums __attribute__((unused))) {
    MOVE_SUMS("ldr r6, [sp, #20]\n", "12", "lsrs r5, r3\n", "subs");
}

__attribute__((naked)) static void add_products(const term_t *terms __attribute__((unused)),
                                                uint32_t n __attribute__((unused)), int32_t by __attribute__((unused)),
                                                int32_t *sums __attribute__((unused))) {
    MOVE_SUMS("mov r6, r3\n", "10", "", "adds");
}

#else

static void add_magnitudes(const term_t *terms, uint32_t n, int32_t by, uint32_t shift, int32_t *sums) {
    for (const term_t *end = terms + n; terms != end; terms++) {
        sums[terms->at / 4] += terms->factor * by >> shift;
    }
}

static void subtract_magnitudes(const term_t *terms, uint32_t n, int32_t by, uint32_t shift, int32_t *sums) {
    for (const term_t *end = terms + n; terms != end; terms++) {
        sums[terms->at / 4] -= terms->factor * by >> shift;
    }
}

static void add_products(const term_t *terms, uint32_t n, int32_t by, int32_t *sums) {
    for (const term_t *end = terms + n; terms != end; terms++) {
        int32_t *const sum = sums + terms->at / 4;
        *sum = (int32_t)((uint32_t)*sum + (uint32_t)(terms->factor * by));
    }
}

#endif

void terms_add_magnitudes(const term_t *terms, uint32_t n, int32_t by, uint32_t shift, int32_t *sums, bool minus) {
    if (n > 0 && minus) {
        subtract_magnitudes(terms, n, by, shift, sums);
    } else if (n > 0) {
        add_magnitudes(terms, n, by, shift, sums);
    }
}

void terms_add_products(const term_t *terms, uint32_t n, int32_t by, int32_t *sums) {
    if (n > 0) {
        add_products(terms, n, by, sums);
    }
}

#endif
