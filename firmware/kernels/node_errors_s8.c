#include "kernels/node_errors_s8.h"

#include "arith/bits.h"
#include "arith/rademacher.h"
#include "arith/round_shift.h"
#include "kernels/signed_sums_s32.h"

int32_t node_error_shift(const query_t *queries, uint32_t count) {
    uint32_t sum = 0;
    for (uint32_t q = 0; q < count; q++) {
        sum += magnitude(queries[q].delta);
    }
    const int32_t shift = bits(sum) - 7;
    return shift < 0 ? 0 : shift;
}

void node_errors_s8(const int8_t *clean, uint32_t n, int8_t act_min, int8_t act_max, query_t *queries, uint32_t count, int32_t shift,
                    int8_t *errors) {
    int32_t sums[SIGNS_PER_WORD];
    while (n > 0) {
        const uint32_t taken = n < SIGNS_PER_WORD ? n : SIGNS_PER_WORD;
        signed_sums_s32(queries, count, taken, sums);
        for (uint32_t i = 0; i < taken; i++) {
            const int32_t e8 = shift == 0 ? sums[i] : round_shift(sums[i], shift);
            errors[i] = (int8_t)(clean[i] > act_min && clean[i] < act_max ? e8 : 0);
        }
        clean += taken;
        errors += taken;
        n -= taken;
    }
}
