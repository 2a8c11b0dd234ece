/* Gradients from the signs of perturbations, of weights and of nodes: docs/arithmetic-zeroth-order.md, sections 3 to
   5. */
#include "kernels/gradients.h"

#include <stdbool.h>

#include "arith/integers.h"
#include "arith/rademacher.h"
#include "kernels/core.h"
#include "kernels/sign_moves.h"

/* Queries are taken by fours: the signs of one draw of four queries are a number in 0..15, and a table has the sum for
   each. So a draw costs one look-up, whichever the signs are (the method of the four Russians; Arlazarov
   et al., 1970). */
enum { GROUP = 4, TABLE = 1 << GROUP };

typedef struct {
    int32_t table[TABLE];
    uint32_t signs[GROUP];
} group_t;

/* Of `size` queries; those that are not there add 0. */
static void group_begin(group_t *group, const query_t *queries, uint32_t size) {
    int32_t all = 0;
    for (uint32_t q = 0; q < size; q++) {
        all += queries[q].delta;
    }
    group->table[0] = all;
    for (uint32_t q = 0; q < GROUP; q++) {
        const int32_t twice = q < size ? 2 * queries[q].delta : 0;
        group->signs[q] = q < size ? queries[q].signs : 0;
        for (uint32_t s = 0; s < 1u << q; s++) {
            group->table[(1u << q) + s] = group->table[s] - twice;
        }
    }
}

/* What follows is not inlined: where the compiler knows the group to be on the stack, it computes every address in it
   from there. */

/* A number for each of 32 draws, in words of eight that are four draws apart. */
SEPARATE static void numbers_of(const uint32_t *restrict signs, uint32_t *restrict numbers) {
    const uint32_t mask = 0x11111111u;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t low = (signs[0] >> i & mask) | (signs[1] >> i & mask) << 1;
        numbers[i] = low | (signs[2] >> i & mask) << 2 | (signs[3] >> i & mask) << 3;
    }
}

static inline void look_up(const int32_t *restrict table, const uint32_t *restrict numbers, int32_t *restrict sums,
                           bool first) {
    for (const uint32_t *const end = numbers + 4; numbers != end; numbers++) {
        const uint32_t word = *numbers;
        for (uint32_t j = 0; j < SIGNS_PER_WORD; j += 4) {
            const int32_t sum = table[word >> j & (TABLE - 1u)];
            sums[j] = first ? sum : sums[j] + sum;
        }
        sums++;
    }
}

SEPARATE static void put_sums(const int32_t *restrict table, const uint32_t *restrict numbers, int32_t *restrict sums) {
    look_up(table, numbers, sums, true);
}

SEPARATE static void add_sums(const int32_t *restrict table, const uint32_t *restrict numbers, int32_t *restrict sums) {
    look_up(table, numbers, sums, false);
}

/* The next 32 draws. */
static void one_word(const group_t *group, bool first, int32_t *sums) {
    uint32_t numbers[4];
    numbers_of(group->signs, numbers);
    (first ? put_sums : add_sums)(group->table, numbers, sums);
}

static void last_word(const group_t *group, bool first, uint32_t n, int32_t *sums) {
    int32_t last[SIGNS_PER_WORD];
    one_word(group, true, last);
    for (uint32_t i = 0; i < n; i++) {
        sums[i] = first ? last[i] : sums[i] + last[i];
    }
}

/* The sums of the first group are put, those of the others added. */
static void take_group(query_t *queries, uint32_t size, bool first, uint32_t n, int32_t *sums) {
    group_t group;
    group_begin(&group, queries, size);
    for (; n >= SIGNS_PER_WORD; n -= SIGNS_PER_WORD) {
        one_word(&group, first, sums);
        for (uint32_t q = 0; q < size; q++) {
            group.signs[q] = rademacher_next(group.signs[q]);
        }
        sums += SIGNS_PER_WORD;
    }
    if (n > 0) {
        last_word(&group, first, n, sums);
    }
    for (uint32_t q = 0; q < size; q++) {
        queries[q].signs = rademacher_skip(group.signs[q], n);
    }
}

static inline void put_one(int32_t delta, uint32_t signs, uint32_t n, int32_t *sums) {
    for (uint32_t i = 0; i < n; i++) {
        sums[i] = delta - 2 * delta * (int32_t)(signs >> i & 1u);
    }
}

/* One query needs no table. */
static void take_one(query_t *query, uint32_t n, int32_t *sums) {
    const int32_t delta = query->delta;
    uint32_t signs = query->signs;
    for (; n >= SIGNS_PER_WORD; n -= SIGNS_PER_WORD) {
        for (uint32_t i = 0; i < SIGNS_PER_WORD; i += 8) {
            put_one(delta, signs >> i, 8, sums + i);
        }
        signs = rademacher_next(signs);
        sums += SIGNS_PER_WORD;
    }
    put_one(delta, signs, n, sums);
    query->signs = rademacher_skip(signs, n);
}

void signed_sums_s32(query_t *queries, uint32_t count, uint32_t n, int32_t *sums) {
    if (count == 1) {
        take_one(queries, n, sums);
        return;
    }
    for (uint32_t q = 0; q < count; q += GROUP) {
        take_group(queries + q, count - q < GROUP ? count - q : GROUP, q == 0, n, sums);
    }
}

int32_t node_error_shift(const query_t *queries, uint32_t count) {
    uint32_t sum = 0;
    for (uint32_t q = 0; q < count; q++) {
        sum += magnitude(queries[q].delta);
    }
    const int32_t shift = bits(sum) - 7;
    return shift < 0 ? 0 : shift;
}

/* A multiple of SIGNS_PER_WORD: what is made at a time. */
enum { NODES = 64 };

typedef struct {
    int32_t half; /* 2^(s-1), 0 for s = 0 */
    int32_t sign; /* -1, 0 for s = 0: where halves of negative sums are moved down */
    int32_t shift;
} rounding_t;

/* RoundShift of arithmetic.md, section 2. Sums are within +-2^28, halves within 2^20: nothing overflows. */
static int32_t rounded(int32_t sum, const rounding_t *rounding) {
    return clip127((sum + rounding->half + (sum >> 31 & rounding->sign)) >> rounding->shift);
}

static void round_nodes(const int8_t *clean, const int32_t *sums, uint32_t n, passing_t passing, rounding_t rounding,
                        int8_t *errors) {
    for (uint32_t i = 0; i < n; i++) {
        errors[i] = passes(clean[i], passing) ? (int8_t)rounded(sums[i], &rounding) : 0;
    }
}

void node_errors_s8(const int8_t *clean, uint32_t n, int8_t act_min, int8_t act_max, query_t *queries, uint32_t count,
                    int32_t shift, int8_t *errors) {
    const rounding_t rounding = {
        .half = shift == 0 ? 0 : 1 << (shift - 1), .sign = shift == 0 ? 0 : -1, .shift = shift};
    const passing_t passing = passing_between(act_min, act_max);
    int32_t sums[NODES];
    while (n > 0) {
        const uint32_t taken = n < NODES ? n : NODES;
        signed_sums_s32(queries, count, taken, sums);
        round_nodes(clean, sums, taken, passing, rounding, errors);
        clean += taken;
        errors += taken;
        n -= taken;
    }
}
