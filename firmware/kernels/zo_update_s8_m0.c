#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "arith/bits.h"
#include "arith/clip127.h"
#include "arith/psto_shift.h"
#include "kernels/noise_m0.h"
#include "kernels/zo_update_s8.h"

enum { BYTES = 256 };

/* For every byte of B what takes back the perturbation, z, with the limit on top, so that what is within the limit becomes 0 to twice
   that, and what then moves the weight, u: far fewer bytes than weights. */
typedef struct {
    uint8_t z_above[BYTES];
    int8_t u[BYTES];
} moves_t;

static void fill_moves(moves_t *moves, const noise_t *noise, int32_t sign, int32_t b_zo, int32_t limit) {
    const noise_t never_zero = {.p_zero = 0, .r_max = noise->r_max};
    const int32_t s = bits(noise->r_max) - b_zo;
    for (uint32_t b = 0; b < BYTES; b++) {
        const int32_t z = noise_of(&never_zero, (noise_words_t){.a = 0, .b = b}, 0);
        moves->z_above[b] = (uint8_t)(z + limit);
        moves->u[b] = (int8_t)(s < 1 ? sign * z : psto_shift(sign * z, s));
    }
}

static void update_one(int8_t *weights, uint32_t n, noise_t *noise, const moves_t *moves, int32_t limit) {
    const noise_words_t words = noise_next(noise);
    for (uint32_t i = 0; i < n; i++) {
        const int32_t z = noise_of(noise, words, i);
        const int32_t u = z == 0 ? 0 : moves->u[words.b >> (8 * i) & 0xFFu];
        weights[i] = (int8_t)clip(clip(weights[i] + z, limit) - u, limit);
    }
}

static void update_each(int8_t *weights, int8_t *end, noise_t *noise, const moves_t *moves, int32_t limit) {
    for (; weights != end; weights += 4) {
        update_one(weights, 4, noise, moves, limit);
    }
}

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* r4, a weight and the limit, against twice the limit in r9. */
#define COMPARE(out_of_range) "cmp r4, r9\n bhi " out_of_range "f\n"
#define OUT_OF_RANGE(out_of_range, here) out_of_range ":\n bl 9f\n b " here "b\n"

/* Weight `i`; r5 the moves z, r10 the moves u, r6 the limit. One that was not perturbed is only held within the limit. */
#define UPDATE(i, byte, restored, moved, next, far, too_far, still)                                                                  \
    UNLESS_ZERO still "f\n" byte WEIGHT(i) "ldrb r7, [r5, r2]\n adds r4, r4, r7\n" COMPARE(far) restored                             \
        ":\n mov r7, r10\n ldrsb r7, [r7, r2]\n subs r4, r4, r7\n" COMPARE(too_far) moved ":\n subs r4, r4, r6\n strb r4, [r0, #" i     \
        "]\n" next ":\n"
#define STILL(i, still, next, too_far) still ":\n" WEIGHT(i) "adds r4, r4, r6\n" COMPARE(too_far) "b " next "b\n"

/* Groups of four weights up to `end`, limit >= r_max; returns the state behind them. r11 the end. */
__attribute__((naked)) static uint32_t update_groups(int8_t *weights __attribute__((unused)), int8_t *end __attribute__((unused)),
                                                     const moves_t *moves __attribute__((unused)),
                                                     uint32_t state __attribute__((unused)),
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
            "movs r5, r2\n"
            "adds r2, #255\n"
            "adds r2, #1\n"
            "mov r10, r2\n"
            "1:\n" NEXT_WORDS UPDATE("3", BYTE_3, "13", "23", "63", "33", "43", "53") NEXT_BYTE
            UPDATE("2", BYTE_2, "12", "22", "62", "32", "42", "52") NEXT_BYTE
            UPDATE("1", BYTE_1, "11", "21", "61", "31", "41", "51") NEXT_BYTE
            UPDATE("0", BYTE_0, "10", "20", "60", "30", "40", "50")
            "adds r0, #4\n"
            "cmp r0, r11\n"
            "bne 1b\n"
            "movs r0, r3\n"
            "pop {r4-r7}\n"
            "mov r8, r4\n"
            "mov r9, r5\n"
            "mov r10, r6\n"
            "mov r11, r7\n"
            "pop {r4-r7, pc}\n"
            STILL("3", "53", "63", "43") STILL("2", "52", "62", "42") STILL("1", "51", "61", "41") STILL("0", "50", "60", "40")
            OUT_OF_RANGE("30", "10") OUT_OF_RANGE("31", "11") OUT_OF_RANGE("32", "12") OUT_OF_RANGE("33", "13")
            OUT_OF_RANGE("40", "20") OUT_OF_RANGE("41", "21") OUT_OF_RANGE("42", "22") OUT_OF_RANGE("43", "23")
            "9:\n" /* 0 for less, twice the limit for more */
            "asrs r7, r4, #31\n"
            "mov r4, r9\n"
            "bics r4, r7\n"
            "bx lr\n");
}

static void update_fast(int8_t *weights, int8_t *end, noise_t *noise, const moves_t *moves, int32_t limit) {
    noise->state = update_groups(weights, end, moves, noise->state, noise->p_zero, limit);
}

#else

static void update_fast(int8_t *weights, int8_t *end, noise_t *noise, const moves_t *moves, int32_t limit) {
    update_each(weights, end, noise, moves, limit);
}

#endif

void zo_update_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t sign, int32_t b_zo, int32_t limit) {
    moves_t moves;
    fill_moves(&moves, &noise, sign, b_zo, limit);
    int8_t *const end = weights + n / 4 * 4;
    if (limit < noise.r_max) { /* z and the limit are no byte, and no perturbation is exact: not what a step does */
        update_each(weights, end, &noise, &moves, limit);
    } else if (end != weights) {
        update_fast(weights, end, &noise, &moves, limit);
    }
    if (n % 4 != 0) {
        update_one(end, n % 4, &noise, &moves, limit);
    }
}

#endif
