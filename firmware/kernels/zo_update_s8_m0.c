#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include <stdbool.h>

#include "arith/bits.h"
#include "arith/clip127.h"
#include "arith/psto_shift.h"
#include "kernels/noise_m0.h"
#include "kernels/zo_update_s8.h"

enum { BYTES = 256 };

/* What takes back the perturbation, z, and what then moves the weight, u, for every byte of B: far fewer of them than weights. */
typedef struct {
    int8_t z[BYTES], u[BYTES];
} moves_t;

static void fill_moves(moves_t *moves, const noise_t *noise, int32_t sign, int32_t b_zo) {
    const noise_t never_zero = {.p_zero = 0, .r_max = noise->r_max};
    const int32_t s = bits(noise->r_max) - b_zo;
    for (uint32_t b = 0; b < BYTES; b++) {
        const int32_t z = noise_of(&never_zero, (noise_words_t){.a = 0, .b = b}, 0);
        moves->z[b] = (int8_t)z;
        moves->u[b] = (int8_t)(s < 1 ? sign * z : psto_shift(sign * z, s));
    }
}

static uint32_t update_one(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves, uint32_t p_zero, int32_t limit) {
    noise_t noise = {.state = state};
    const noise_words_t words = noise_next(&noise);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = words.b >> (8 * i) & 0xFFu;
        const bool moved = (words.a >> (8 * i) & 0xFFu) >= p_zero;
        const int32_t restored = clip(weights[i] + (moved ? moves->z[b] : 0), limit);
        weights[i] = (int8_t)clip(restored - (moved ? moves->u[b] : 0), limit);
    }
    return noise.state;
}

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* r4 against the limit r6, whose double r9 holds. */
#define COMPARE(here, out_of_range) "adds r7, r4, r6\n cmp r7, r9\n bhi " out_of_range "f\n" here ":\n"
#define OUT_OF_RANGE(out_of_range, here) out_of_range ":\n bl 9f\n b " here "b\n"

/* Weight `i`; r5 the moves z, r10 the moves u. One that was not perturbed is only held within the limit. */
#define UPDATE(i, byte, restored, moved, far, too_far, still)                                                                        \
    UNLESS_ZERO still "f\n" byte WEIGHT(i) "ldrsb r7, [r5, r3]\n adds r4, r4, r7\n" COMPARE(restored, far)                           \
        "mov r7, r10\n ldrsb r7, [r7, r3]\n subs r4, r4, r7\n" COMPARE(moved, too_far) "strb r4, [r0, #" i "]\n"
#define STILL(i, still, moved, too_far) still ":\n" WEIGHT(i) "adds r7, r4, r6\n cmp r7, r9\n bhi " too_far "f\n b " moved "b\n"

/* Groups of four weights up to `end`; returns the state behind them. r11 the end. */
__attribute__((naked)) static uint32_t update_groups(int8_t *weights __attribute__((unused)), int8_t *end __attribute__((unused)),
                                                     uint32_t state __attribute__((unused)),
                                                     const moves_t *moves __attribute__((unused)),
                                                     uint32_t p_zero __attribute__((unused)), int32_t limit __attribute__((unused))) {
    __asm__(".syntax unified\n"
            "push {r4-r7, lr}\n"
            "mov r4, r8\n"
            "mov r5, r9\n"
            "mov r6, r10\n"
            "mov r7, r11\n"
            "push {r4-r7}\n"
            "ldr r4, [sp, #36]\n"
            "lsls r4, r4, #24\n"
            "mov r8, r4\n"
            "ldr r6, [sp, #40]\n"
            "lsls r4, r6, #1\n"
            "mov r9, r4\n"
            "mov r11, r1\n"
            "movs r1, r2\n"
            "movs r5, r3\n"
            "adds r3, #255\n"
            "adds r3, #1\n"
            "mov r10, r3\n"
            "1:\n" NEXT_WORDS /* from byte 3 down, which is highest in A */
            UPDATE("3", BYTE_3, "13", "23", "33", "43", "53") "lsls r2, r2, #8\n"
            UPDATE("2", BYTE_2, "12", "22", "32", "42", "52") "lsls r2, r2, #8\n"
            UPDATE("1", BYTE_1, "11", "21", "31", "41", "51") "lsls r2, r2, #8\n"
            UPDATE("0", BYTE_0, "10", "20", "30", "40", "50")
            "adds r0, #4\n"
            "cmp r0, r11\n"
            "bne 1b\n"
            "movs r0, r1\n"
            "pop {r4-r7}\n"
            "mov r8, r4\n"
            "mov r9, r5\n"
            "mov r10, r6\n"
            "mov r11, r7\n"
            "pop {r4-r7, pc}\n"
            STILL("3", "53", "23", "43") STILL("2", "52", "22", "42") STILL("1", "51", "21", "41") STILL("0", "50", "20", "40")
            OUT_OF_RANGE("30", "10") OUT_OF_RANGE("31", "11") OUT_OF_RANGE("32", "12") OUT_OF_RANGE("33", "13")
            OUT_OF_RANGE("40", "20") OUT_OF_RANGE("41", "21") OUT_OF_RANGE("42", "22") OUT_OF_RANGE("43", "23")
            "9:\n" /* the limit with the sign of r4 */
            "asrs r4, r4, #31\n"
            "movs r7, r4\n"
            "eors r4, r6\n"
            "subs r4, r4, r7\n"
            "bx lr\n");
}

#else

static uint32_t update_groups(int8_t *weights, int8_t *end, uint32_t state, const moves_t *moves, uint32_t p_zero, int32_t limit) {
    for (; weights != end; weights += 4) {
        state = update_one(weights, 4, state, moves, p_zero, limit);
    }
    return state;
}

#endif

void zo_update_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t sign, int32_t b_zo, int32_t limit) {
    moves_t moves;
    fill_moves(&moves, &noise, sign, b_zo);
    int8_t *const end = weights + n / 4 * 4;
    const uint32_t state = end == weights ? noise.state : update_groups(weights, end, noise.state, &moves, noise.p_zero, limit);
    if (n % 4 != 0) {
        update_one(end, n % 4, state, &moves, noise.p_zero, limit);
    }
}

#endif
