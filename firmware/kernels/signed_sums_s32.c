#include "kernels/signed_sums_s32.h"

#include "arith/rademacher.h"

/* delta * xi = delta - 2 * delta * bit: the sum of all delta, less twice those whose bit is 1. */

static int32_t sum_of_deltas(const query_t *queries, uint32_t count) {
    int32_t sum = 0;
    for (uint32_t q = 0; q < count; q++) {
        sum += queries[q].delta;
    }
    return sum;
}

/* Of draws first..first + 3 of the words at hand. */
static void four_sums(const query_t *queries, uint32_t count, uint32_t first, int32_t all, int32_t sums[4]) {
    int32_t a = 0, b = 0, c = 0, d = 0;
    for (const query_t *const end = queries + count; queries != end; queries++) {
        const uint32_t signs = queries->signs >> first;
        const int32_t delta = queries->delta;
        a += delta * (int32_t)(signs & 1u);
        b += delta * (int32_t)(signs >> 1 & 1u);
        c += delta * (int32_t)(signs >> 2 & 1u);
        d += delta * (int32_t)(signs >> 3 & 1u);
    }
    sums[0] = all - 2 * a;
    sums[1] = all - 2 * b;
    sums[2] = all - 2 * c;
    sums[3] = all - 2 * d;
}

static void one_word(const query_t *queries, uint32_t count, uint32_t n, int32_t all, int32_t *sums) {
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        four_sums(queries, count, i, all, sums + i);
    }
    int32_t last[4];
    four_sums(queries, count, i & (SIGNS_PER_WORD - 1u), all, last);
    for (uint32_t j = 0; i + j < n; j++) {
        sums[i + j] = last[j];
    }
}

void signed_sums_s32(query_t *queries, uint32_t count, uint32_t n, int32_t *sums) {
    const int32_t all = sum_of_deltas(queries, count);
    while (n > 0) {
        const uint32_t taken = n < SIGNS_PER_WORD ? n : SIGNS_PER_WORD;
        one_word(queries, count, taken, all, sums);
        for (uint32_t q = 0; q < count; q++) {
            queries[q].signs =
                taken < SIGNS_PER_WORD ? rademacher_skip(queries[q].signs, taken) : rademacher_next(queries[q].signs);
        }
        sums += taken;
        n -= taken;
    }
}
