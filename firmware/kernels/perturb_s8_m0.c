#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "arith/clip127.h"
#include "kernels/noise_m0.h"
#include "kernels/perturb_s8.h"

enum { BYTES = 256 };

/* k * z for every byte of B, |k * z| <= 127: there are far fewer of them than weights. */
typedef struct {
    int8_t of[BYTES];
} moves_t;

static void fill_moves(moves_t *moves, const noise_t *noise, int32_t k) {
    const noise_t never_zero = {.p_zero = 0, .r_max = noise->r_max};
    for (uint32_t b = 0; b < BYTES; b++) {
        moves->of[b] = (int8_t)(k * noise_of(&never_zero, (noise_words_t){.a = 0, .b = b}, 0));
    }
}

static uint32_t perturb_one(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves, uint32_t p_zero) {
    noise_t noise = {.state = state};
    const noise_words_t words = noise_next(&noise);
    for (uint32_t i = 0; i < n; i++) {
        if ((words.a >> (8 * i) & 0xFFu) >= p_zero) {
            weights[i] = (int8_t)clip127(weights[i] + moves->of[words.b >> (8 * i) & 0xFFu]);
        }
    }
    return noise.state;
}

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* Weight `i`, if it moves; r5 the moves, r6 is 127. */
#define MOVE(i, byte, here, out_of_range, next)                                                                                     \
    UNLESS_ZERO next "f\n" byte "ldrsb r2, [r5, r2]\n" WEIGHT(i) "adds r2, r2, r4\n adds r4, r2, r6\n cmp r4, #254\n bhi " out_of_range \
                     "f\n" here ":\n strb r2, [r0, #" i "]\n" next ":\n"
#define OUT_OF_RANGE(out_of_range, here) out_of_range ":\n bl 9f\n b " here "b\n"

/* Groups of four weights up to `end`; returns the state behind them. 13 instructions a weight if a third of them does not move.
   r7 the end. */
__attribute__((naked)) static uint32_t perturb_groups(int8_t *weights __attribute__((unused)), int8_t *end __attribute__((unused)),
                                                      const moves_t *moves __attribute__((unused)),
                                                      uint32_t state __attribute__((unused)),
                                                      uint32_t p_zero __attribute__((unused))) {
    __asm__(".syntax unified\n"
            "push {r4-r7, lr}\n"
            "mov r4, r8\n"
            "push {r4}\n"
            "ldr r4, [sp, #24]\n"
            "lsls r4, r4, #24\n"
            "mov r8, r4\n"
            "movs r7, r1\n"
            "movs r5, r2\n"
            "movs r6, #127\n"
            "1:\n" NEXT_WORDS MOVE("3", BYTE_3, "33", "43", "53") NEXT_BYTE MOVE("2", BYTE_2, "32", "42", "52") NEXT_BYTE
            MOVE("1", BYTE_1, "31", "41", "51") NEXT_BYTE MOVE("0", BYTE_0, "30", "40", "50")
            "adds r0, #4\n"
            "cmp r0, r7\n"
            "bne 1b\n"
            "movs r0, r3\n"
            "pop {r4}\n"
            "mov r8, r4\n"
            "pop {r4-r7, pc}\n"
            OUT_OF_RANGE("40", "30") OUT_OF_RANGE("41", "31") OUT_OF_RANGE("42", "32") OUT_OF_RANGE("43", "33")
            "9:\n" /* 127 with the sign of r2 */
            "asrs r2, r2, #31\n"
            "movs r4, r2\n"
            "eors r2, r6\n"
            "subs r2, r2, r4\n"
            "bx lr\n");
}

#else

static uint32_t perturb_groups(int8_t *weights, int8_t *end, const moves_t *moves, uint32_t state, uint32_t p_zero) {
    for (; weights != end; weights += 4) {
        state = perturb_one(weights, 4, state, moves, p_zero);
    }
    return state;
}

#endif

static void perturb_all(int8_t *weights, uint32_t n, noise_t noise, int32_t k) {
    moves_t moves;
    fill_moves(&moves, &noise, k);
    int8_t *const end = weights + n / 4 * 4;
    const uint32_t state = end == weights ? noise.state : perturb_groups(weights, end, &moves, noise.state, noise.p_zero);
    if (n % 4 != 0) {
        perturb_one(end, n % 4, state, &moves, noise.p_zero);
    }
}

void perturb_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t k) {
    if (k == -2 && noise.r_max > 63) {
        perturb_all(weights, n, noise, -1); /* two steps saturate where one would: both go the same way */
        perturb_all(weights, n, noise, -1);
    } else {
        perturb_all(weights, n, noise, k);
    }
}

#endif
