#include "kernels/affine8.h"
#include "kernels/affine8_spread.h"
#include "kernels/affine8_within.h"

static void include_all(affine8_spread_t *spread, const int32_t *sums, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        affine8_include(spread, sums[i]);
    }
}

affine8_extent_t affine8_extent_s32(const int32_t *sums, uint32_t n) {
    affine8_spread_t spread = {0, 0};
    const int32_t *const fours = sums + n / 4 * 4;
    while (sums != fours) {
        sums = affine8_skip_within(sums, fours, &spread);
        if (sums != fours) {
            include_all(&spread, sums, 4);
            sums += 4;
        }
    }
    include_all(&spread, sums, n % 4);
    return affine8_extent_of(&spread);
}
