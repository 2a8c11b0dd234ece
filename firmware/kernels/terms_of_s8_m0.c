/* Lists of terms for sums of products on Armv6-M: docs/performance.md. */
#include "kernels/terms_s8.h"

#include <stddef.h>

#include "kernels/core.h"

#if KERNELS_THUMB1

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* r0 the terms, r1 and r2 the bytes less `at`, so that r3 counts `at`; r6 the end of the run, r7 what `prepare` makes,
   lr the rows, r8 and r9 to the next row, r12 at_step. On the stack: +12 the begin of the terms, +16 the fourth
   argument. `term` puts r4 into the list: 9 instructions a term in all, 8 for none, and with one added 11. */
#define OF_PAIR(prepare, term, apart)                                                                                  \
    __asm__(                                                                                                           \
        ".syntax unified\n"                                                                                            \
        "push {r0, r3-r7, lr}\n mov r4, r8\n mov r5, r9\n mov r6, r10\n"                                               \
        "push {r4-r6}\n"                                                                                               \
        "ldm r1!, {r4-r7}\n" /* bytes, n, rows, step */                                                                \
        "ldm r1, {r1, r3}\n" /* at, at_step */                                                                         \
        "mov r12, r3\n subs r7, r7, r3\n"                                                                              \
        "mov r9, r7\n subs r7, r3, r5\n"                                                                               \
        "mov r8, r7\n mov lr, r6\n mov r3, r1\n adds r6, r1, r5\n"                                                     \
        "subs r1, r4, r1\n"                                                                                            \
        "adds r2, r1, r2\n" prepare                                                                                    \
        "1:\n ldrsb r5, [r1, r3]\n ldrsb r4, [r2, r3]\n lsls r4, r4, #16\n"                                            \
        "adds r4, r4, r5\n" term                                                                                       \
        "adds r3, r3, #1\n"                                                                                            \
        "cmp r3, r6\n bne 1b\n"                                                                                        \
        "add r3, r8\n add r1, r9\n add r2, r9\n add r6, r12\n"                                                         \
        "mov r4, lr\n subs r4, r4, #1\n"                                                                               \
        "mov lr, r4\n bne 1b\n"                                                                                        \
        "pop {r4-r6}\n mov r8, r4\n mov r9, r5\n mov r10, r6\n"                                                        \
        "add sp, #8\n"                                                                                                 \
        "pop {r4-r7, pc}\n" apart)

__attribute__((naked)) term_t *terms_of_pair(term_t *end, const patch_t *patch, uint32_t to_second) {
    OF_PAIR("", "beq 2f\n stm r0!, {r3, r4}\n 2:\n", "");
}

/* r7 what a pair is at least whose second byte is 127, which becomes 128; r10 the pair 1, 1. */
__attribute__((naked)) term_t *terms_of_pair_and_one(term_t *end, const patch_t *patch, uint32_t to_second,
                                                     uint32_t *low) {
    OF_PAIR(
        "movs r7, #1\n lsls r5, r7, #16\n adds r7, r7, r5\n mov r10, r7\n"
        "movs r7, #127\n lsls r7, r7, #16\n subs r7, #128\n",
        "cmp r4, r7\n bge 3f\n 2:\n add r4, r10\n stm r0!, {r3, r4}\n",
        "3:\n" /* is it the second term of two, and the first alike? */
        "ldr r5, [sp, #12]\n subs r5, r0, r5\n lsls r5, r5, #28\n bpl 2b\n"
        "subs r0, #4\n"
        "ldm r0!, {r5}\n subs r5, r5, r7\n asrs r5, r5, #16\n ble 2b\n"
        "ldr r5, [sp, #16]\n str r5, [r5]\n"
        "b 2b\n");
}

#else

term_t *terms_of_pair(term_t *end, const patch_t *patch, uint32_t to_second) {
    const int8_t *bytes = patch->bytes;
    for (uint32_t row = 0; row < patch->rows; row++, bytes += patch->step) {
        for (uint32_t i = 0; i < patch->n; i++) {
            const int32_t factor = bytes[i] + bytes[i + to_second] * 65536;
            if (factor != 0) {
                *end++ = (term_t){.at = patch->at + row * patch->at_step + i, .factor = factor};
            }
        }
    }
    return end;
}

term_t *terms_of_pair_and_one(term_t *end, const patch_t *patch, uint32_t to_second, uint32_t *low) {
    const term_t *const begin = end;
    const int8_t *bytes = patch->bytes;
    bool before = false;
    for (uint32_t row = 0; row < patch->rows; row++, bytes += patch->step) {
        for (uint32_t i = 0; i < patch->n; i++) {
            const bool largest = bytes[i + to_second] == 127;
            if ((end - begin) % 2 != 0 && largest && before) {
                *low = 1;
            }
            before = largest;
            *end++ = (term_t){.at = patch->at + row * patch->at_step + i,
                              .factor = bytes[i] + 1 + (bytes[i + to_second] + 1) * 65536};
        }
    }
    return end;
}

#endif

term_t *terms_of_bytes(term_t *end, const int8_t *bytes, uint32_t n, uint32_t step, uint32_t at, uint32_t at_step) {
    for (; n > 0; n--, bytes += step, at += at_step) {
        if (*bytes != 0) {
            *end++ = (term_t){.at = at, .factor = *bytes};
        }
    }
    return end;
}

term_t *terms_of_differences(term_t *end, const int8_t *bytes, uint32_t n, uint32_t step, int32_t zero, uint32_t at,
                             uint32_t at_step) {
    for (; n > 0; n--, bytes += step, at += at_step) {
        if (*bytes != zero) {
            *end++ = (term_t){.at = at, .factor = *bytes - zero};
        }
    }
    return end;
}

term_t *terms_of_errors(term_t *end, const affine8_errors_t *errors, const int8_t *error, uint32_t first, uint32_t n,
                        uint32_t row) {
    const int32_t zero = errors->zero;
    error += first;
    if (errors->kept == NULL) {
        return terms_of_differences(end, error, n, 1, zero, first * row, row);
    }
    for (const uint16_t *kept = errors->kept + first, *const last = kept + n; kept != last; kept++) {
        const int32_t e = *error++ - zero;
        if (e != 0) {
            *end++ = (term_t){.at = *kept * row, .factor = e};
        }
    }
    return end;
}

term_t *terms_of_patch(term_t *end, const patch_t *patch, uint32_t shift) {
    const int8_t *bytes = patch->bytes;
    uint32_t at = patch->at;
    for (uint32_t row = 0; row < patch->rows; row++) {
        for (uint32_t i = 0; i < patch->n; i++) {
            if (bytes[i] != 0) {
                *end++ = (term_t){.at = at + i, .factor = bytes[i] * (1 << shift)};
            }
        }
        bytes += patch->step;
        at += patch->at_step;
    }
    return end;
}

#endif
