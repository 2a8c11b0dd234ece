#include "kernels/gradients.h"

#include <stdbool.h>

#include "arith/rademacher.h"

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
__attribute__((noinline)) static void numbers_of(const uint32_t *restrict signs, uint32_t *restrict numbers) {
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

__attribute__((noinline)) static void put_sums(const int32_t *restrict table, const uint32_t *restrict numbers,
                                               int32_t *restrict sums) {
    look_up(table, numbers, sums, true);
}

__attribute__((noinline)) static void add_sums(const int32_t *restrict table, const uint32_t *restrict numbers,
                                               int32_t *restrict sums) {
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
