#include "kernels/gradients.h"

#include "arith/bits.h"
#include "arith/clip127.h"
#include "kernels/sign_moves.h"

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
