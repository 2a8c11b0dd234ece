/* Weights moved by numbers of the pool of noise on Armv6-M: docs/arithmetic.md, sections 8 and 9. */
#include "kernels/perturbation.h"

#include <stdbool.h>
#include <stddef.h>

#include "arith/integers.h"
#include "kernels/core.h"
#include "kernels/noise.h"

#if KERNELS_THUMB1

/* How the weights are moved: by a loop of move_groups_* (TWICE: `within`, and once more), or one at a time by
   words[2 f], the first move, then by words[2 f + 1]. */
enum { FREE, WITHIN, TWICE, APART, SINGLY };

enum { BYTES = 256 };

/* The two moves of a pass by z. */
typedef struct {
    int32_t first, second;     /* times z */
    const zo_update_t *update; /* instead of the second; or NULL */
    bool back;                 /* the second goes the other way */
} pass_t;

/* Bytes of words[2 f], of the same with the other sign drawn, and of words[2 f + 1], from the lowest up, for every byte
   of B: there are far fewer of them than numbers in the pool. */
typedef struct {
    uint32_t of[BYTES];
} bytes_t;

/* A byte of words[2 f]: the tested move saturates where the weight has to stop. */
static int32_t tested(const moves_t *moves, const pass_t *pass, int32_t first, int32_t second) {
    const int32_t both = first + second, furthest = pass->back ? first : both, limit = moves->limit;
    if (moves->form == SINGLY) {
        return first;
    }
    if (limit == 127) { /* bytes saturate at -128 */
        return furthest < 0 ? furthest - 1 : furthest;
    }
    if (second == 0) { /* at rest again */
        return pass->back ? 0 : both;
    }
    return second > 0 ? both + 127 - limit : both - (128 - limit);
}

static uint32_t bytes_of(const moves_t *moves, const pass_t *pass, int32_t z) {
    const int32_t first = pass->first * z,
                  second = pass->update != NULL ? zo_update_of(pass->update, z) : pass->second * z;
    const int32_t test = tested(moves, pass, first, second), opposite = tested(moves, pass, -first, -second);
    const int32_t other = moves->form == SINGLY ? second : first + second;
    return (uint32_t)(test & 0xFF) | (uint32_t)(opposite & 0xFF) << 8 | (uint32_t)other << 16;
}

static void fill_bytes(bytes_t *bytes, const moves_t *moves, const pass_t *pass, int32_t r_max) {
    int32_t above = r_max; /* B_i (2 r_max + 1) + r_max */
    for (uint32_t *of = bytes->of; of != bytes->of + BYTES;) {
        const int32_t z_above = above >> 8;
        const uint32_t same = bytes_of(moves, pass, z_above - r_max);
        do {
            *of++ = same;
            above += 2 * r_max + 1;
        } while (above >> 8 == z_above);
    }
}

SEPARATE static void fill_words(const moves_t *moves, noise_t noise, const bytes_t *bytes) {
    const uint32_t p_zero = (uint32_t)noise.p_zero << 24;
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const noise_words_t drawn = noise_next(&noise);
        uint32_t a = drawn.a, b = drawn.b, number = 0;
        for (uint32_t i = 0; i < 4; i++, a <<= 8, b <<= 8) { /* from the highest byte down */
            number <<= 8;
            if (a >= p_zero) {
                number += (uint32_t)((int32_t)bytes->of[b >> 24] >> 16);
            }
        }
        moves->words[e] = number;
        moves->words[e + NOISE_ENTRIES] = 0u - number;
    }
}

SEPARATE static void fill_pairs(const moves_t *moves, noise_t noise, const bytes_t *bytes) {
    const uint32_t p_zero = (uint32_t)noise.p_zero << 24;
    for (uint32_t *pair = moves->words; pair != moves->words + NOISE_FIELDS; pair += 2) {
        const noise_words_t drawn = noise_next(&noise);
        uint32_t a = drawn.a, b = drawn.b, test = 0, opposite = 0, other = 0;
        for (uint32_t i = 0; i < 4; i++, a <<= 8, b <<= 8) {
            test <<= 8;
            opposite <<= 8;
            other <<= 8;
            if (a >= p_zero) {
                const uint32_t of = bytes->of[b >> 24];
                const int32_t tested_byte = (int8_t)(of & 0xFFu), opposite_byte = (int8_t)(of >> 8 & 0xFFu);
                test += (uint32_t)tested_byte;
                opposite += (uint32_t)opposite_byte;
                other += (uint32_t)((int32_t)of >> 16);
            }
        }
        pair[0] = test;
        pair[1] = other;
        pair[NOISE_FIELDS] = opposite;
        pair[NOISE_FIELDS + 1] = 0u - other;
    }
}

static void fill(const moves_t *moves, const pass_t *pass, noise_t noise) {
    bytes_t bytes;
    fill_bytes(&bytes, moves, pass, noise.r_max);
    if (moves->form == FREE) {
        fill_words(moves, noise, &bytes);
    } else {
        fill_pairs(moves, noise, &bytes);
    }
}

void moves_to_perturb(moves_t *moves, noise_t noise, int32_t k, uint8_t limit) {
    const bool twice = k != 1 && 2 * noise.r_max >= 127 && noise.r_max < 127;
    const pass_t pass = {.first = k == 1 ? 1 : -1, .second = k == 1 || twice ? 0 : -1};
    moves->limit = limit;
    moves->form = limit < 127 ? FREE : noise.r_max == 127 ? SINGLY : twice ? TWICE : WITHIN;
    fill(moves, &pass, noise);
}

/* The form of an update of up to `largest`, such that the tested moves fit a byte. */
static uint8_t form_of_update(int32_t r_max, int32_t sign, int32_t largest, int32_t limit) {
    const int32_t furthest = (sign > 0 ? r_max : r_max + largest) + 128 - limit;
    if (limit < 127 && sign >= 0) {
        return sign == 0 ? FREE : APART;
    }
    return furthest < 128 ? WITHIN : SINGLY;
}

void moves_to_update(moves_t *moves, noise_t noise, int32_t sign, int32_t b_zo, uint8_t limit) {
    zo_update_t update;
    const pass_t pass = {.first = 1, .update = &update, .back = sign > 0};
    zo_update_fill(&update, noise.r_max, sign, b_zo);
    moves->limit = limit;
    moves->form = form_of_update(noise.r_max, sign, update.largest, limit);
    fill(moves, &pass, noise);
}

/* The lowest byte of a number, which then stands for the others. */
static inline int32_t take_byte(uint32_t *number) {
    const int32_t byte = (int8_t)(*number & 0xFFu);
    *number = (*number - (uint32_t)byte) >> 8;
    return byte;
}

/* The loops' way, for what they leave. */
static void move_tested(int8_t *weights, uint32_t n, uint32_t test, uint32_t move) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t t = take_byte(&test), m = take_byte(&move), sum = weights[i] + t;
        weights[i] = (int8_t)((sum > 127 ? 127 : sum < -128 ? -128 : sum) + (m - t));
    }
}

static void move_singly(int8_t *weights, uint32_t n, uint32_t first, uint32_t second, int32_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t w = clip(weights[i] + take_byte(&first), limit);
        weights[i] = (int8_t)clip(w + take_byte(&second), limit);
    }
}

static inline void move_group(int8_t *weights, uint32_t n, uint32_t field, const moves_t *moves) {
    const uint32_t *pair = moves->words + 2 * field;
    if (moves->form == SINGLY) {
        move_singly(weights, n, pair[0], pair[1], moves->limit);
    } else if (moves->form == FREE) {
        move_tested(weights, n, moves->words[field], moves->words[field]);
    } else {
        move_tested(weights, n, pair[0], pair[1]);
    }
}

/* Loops that move 24 weights at a time, up to `end`. Each returns the state of the stream after them.

   A number stands for four signed bytes: b_0 + 2^8 b_1 + 2^16 b_2 + 2^24 b_3. Adding it to a word moves four weights at
   once, as long as none leaves its byte. The sign of its highest bit in each byte is that of the byte, or of those
   below where the byte is 0. */
enum { MOVE_GROUPS_WEIGHTS = 24 };

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

#define LOOP __attribute__((naked, noipa)) static uint32_t

/* r0 the weights, r4 the state, r5 the mask of a field, r6 the sign bits of four bytes; r9 the end. Groups are made in
   r2 and r3 in turn and stored in pairs. */

#define ARGUMENTS int8_t *weights, const int8_t *end, const uint32_t *words, uint32_t state

#define ENTER                                                                                                          \
    ".syntax unified\n push {r4-r7, lr}\n mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n push {r4-r7}\n"        \
    "mov r9, r1\n movs r4, r3\n movs r6, #128\n lsls r1, r6, #8\n orrs r6, r1\n lsls r1, r6, #16\n orrs r6, r1\n"      \
    "movs r5, #255\n adds r5, #255\n adds r5, #1\n" /* 511 */
#define LEAVE "movs r0, r4\n pop {r4-r7}\n mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n pop {r4-r7, pc}\n"

/* The next word of the stream. */
#define DRAW "lsls r1, r4, #13\n eors r4, r1\n lsrs r1, r4, #17\n eors r4, r1\n lsls r1, r4, #5\n eors r4, r1\n"

/* Six groups by two words of the stream: GROUP(field of the word, register, offset of the weights, number). */
#define STORE "stmia r0!, {r2, r3}\n"
#define SIX_GROUPS(GROUP, FIELD)                                                                                       \
    DRAW GROUP(FIELD(0), "r2", "0", "1") GROUP(FIELD(1), "r3", "4", "2") STORE GROUP(FIELD(2), "r2", "0", "3")         \
        DRAW GROUP(FIELD(0), "r3", "4", "4") STORE GROUP(FIELD(1), "r2", "0", "5") GROUP(FIELD(2), "r3", "4", "6")     \
            STORE
#define UNTIL_END "cmp r0, r9\n bne 1b\n"

/* A field in r1, four times, the size of a word, and in r7, eight times. */
#define WORD_0 "lsls r1, r4, #2\n"
#define WORD_1 "lsrs r1, r4, #7\n"
#define WORD_2 "lsrs r1, r4, #16\n"
#define WORD(j) WORD_##j
#define PAIR_0 "lsls r7, r4, #3\n"
#define PAIR_1 "lsrs r7, r4, #6\n"
#define PAIR_2 "lsrs r7, r4, #15\n"
#define PAIR(j) PAIR_##j

/* Bytes with their signs turned over are not negative, so that sums within a byte do not carry. r7 the words. */
#define FREE(field, d, at, i)                                                                                          \
    field "ands r1, r5\n ldr r1, [r7, r1]\n ldr " d ", [r0, #" at "]\n eors " d ", r6\n adds " d ", " d                \
          ", r1\n eors " d ", r6\n"

/* Twelve groups a round, so that the end is looked for less often; an odd six come first (bit 3 of their bytes is odd
   with them). */
/* words[f]: a move after which every weight is within -127..127. */
LOOP move_groups_free(ARGUMENTS) {
    __asm__(ENTER
            "movs r7, r2\n lsls r5, r5, #2\n"
            "mov r1, r9\n subs r1, r1, r0\n lsls r1, r1, #28\n bmi 2f\n"
            "1:\n" SIX_GROUPS(FREE, WORD) "2:\n" SIX_GROUPS(FREE, WORD) UNTIL_END LEAVE);
}

/* r5 a sum of bytes whose signs are turned over, r7 one term of it against the sum (exclusive or), r1 the sign bits
   where both terms had the same sign: only there a sum can overflow, and has where its sign differs. Those bytes
   saturate one at a time from the lowest, for each is right once those below it are. r4 their sign bits. */
__attribute__((naked, used)) static void move_saturate(void) {
    __asm__(
        ".syntax unified\n mov r11, r4\n mov r12, r0\n movs r4, r7\n ands r4, r1\n eors r7, r5\n"
        "1:\n rsbs r0, r4, #0\n ands r4, r0\n lsls r0, r4, #1\n tst r5, r4\n bne 2f\n"
        "subs r5, r5, r0\n lsrs r4, r4, #7\n subs r0, r0, r4\n orrs r5, r0\n b 3f\n"
        "2:\n adds r5, r5, r0\n lsrs r4, r4, #7\n subs r0, r0, r4\n bics r5, r0\n"
        "3:\n movs r4, r5\n eors r4, r7\n ands r4, r1\n bne 1b\n"
        "mov r4, r11\n mov r0, r12\n bx lr\n");
}

/* Where a byte changed its sign, and so the next may be wrong: the same moves with the signs turned over. In d what the
   one move made, in r1 the tested one, in r7 the weights, the first of `order` being an exclusive or
   with the second. */
#define REPAIR(order, d, i)                                                                                            \
    "1" i ":\n eors " order "\n subs " d ", " d                                                                        \
    ", r1\n subs r1, r1, r7\n eors r7, r6\n mov r10, r5\n adds r5, r7, r1\n"                                           \
    "eors r1, r7\n ands r1, r6\n eors r7, r5\n tst r7, r1\n bne 4" i                                                   \
    "f\n"                                                                                                              \
    "3" i ":\n adds " d ", " d ", r5\n mov r5, r10\n eors " d ", r6\n b 2" i                                           \
    "b\n"                                                                                                              \
    "4" i ":\n bl move_saturate\n b 3" i "b\n"

/* Both moves of the field; r8 the words, r7 the weights. As long as no byte changes its sign none carries. */
#define PAIR_OF(field, d, at)                                                                                          \
    field "ands r7, r5\n add r7, r8\n ldmia r7!, {r1, " d "}\n ldr r7, [r0, #" at "]\n adds r1, r1, r7\n adds " d      \
          ", " d ", r7\n"
#define WITHIN(field, d, at, i) PAIR_OF(field, d, at) "eors r7, r1\n tst r7, r6\n bne 1" i "f\n 2" i ":\n"
#define APART(field, d, at, i) PAIR_OF(field, d, at) "eors r1, " d "\n tst r1, r6\n bne 1" i "f\n 2" i ":\n"

#define REPAIR_WITHIN(d, i) REPAIR("r7, r1", d, i)
#define REPAIR_APART(d, i) REPAIR("r1, " d, d, i)
#define REPAIRS(VARIANT)                                                                                               \
    VARIANT("r2", "1") VARIANT("r3", "2") VARIANT("r2", "3") VARIANT("r3", "4") VARIANT("r2", "5") VARIANT("r3", "6")

/* words[2 f] a tested move t, words[2 f + 1] another one m, both with bytes of -127..127: each weight becomes
   min(max(w + t, -128), 127) + (m - t), which is w + m where w + t does not saturate. `within`: all m are between 0 and
   t; `apart`: 0 is between m and t, which are less than 128 apart. */
LOOP move_groups_within(ARGUMENTS) {
    __asm__(ENTER
            "mov r8, r2\n lsls r5, r5, #3\n"
            "1:\n" SIX_GROUPS(WITHIN, PAIR) UNTIL_END LEAVE REPAIRS(REPAIR_WITHIN));
}

LOOP move_groups_apart(ARGUMENTS) {
    __asm__(ENTER
            "mov r8, r2\n lsls r5, r5, #3\n"
            "1:\n" SIX_GROUPS(APART, PAIR) UNTIL_END LEAVE REPAIRS(REPAIR_APART));
}

/* As many weights as the loops take, fewer than 24 being left; returns the state after them. */
static uint32_t move_most(int8_t *weights, const int8_t *end, uint32_t state, const moves_t *moves) {
    switch (moves->form) {
    case FREE: return move_groups_free(weights, end, moves->words, state);
    case APART: return move_groups_apart(weights, end, moves->words, state);
    default: return move_groups_within(weights, end, moves->words, state);
    }
}

#define LOOPS_FOR(form) ((form) != SINGLY)

#else

static uint32_t move_most(int8_t *weights, const int8_t *end, uint32_t state, const moves_t *moves) {
    (void)weights, (void)end, (void)moves;
    return state;
}

#define LOOPS_FOR(form) false

#endif

static void move_once(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves) {
    const uint32_t most = LOOPS_FOR(moves->form) ? n / MOVE_GROUPS_WEIGHTS * MOVE_GROUPS_WEIGHTS : 0;
    if (most > 0) {
        state = move_most(weights, weights + most, state, moves);
        weights += most;
        n -= most;
    }
    while (n > 0) {
        state = xorshift32(state);
        for (uint32_t j = 0; j < NOISE_GROUPS && n > 0; j++) {
            const uint32_t taken = n < 4 ? n : 4;
            move_group(weights, taken, noise_field(state, j), moves);
            weights += taken;
            n -= taken;
        }
    }
}

void move_s8(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves) {
    move_once(weights, n, state, moves);
    if (moves->form == TWICE) {
        move_once(weights, n, state, moves);
    }
}

#endif
