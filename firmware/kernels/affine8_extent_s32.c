#include "kernels/affine8.h"
#include "kernels/affine8_spread.h"
#include "kernels/affine8_within.h"

enum { EIGHT = 8 };

static void include_all(affine8_spread_t *spread, const int32_t *sums, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        affine8_include(spread, sums[i]);
    }
}

affine8_extent_t affine8_extent_s32(const int32_t *sums, uint32_t n) {
    affine8_spread_t spread = {0, 0};
    const int32_t *const eights = sums + n / EIGHT * EIGHT;
    while (sums != eights) {
        sums = affine8_skip_within(sums, eights, &spread);
        if (sums != eights) {
            include_all(&spread, sums, EIGHT);
            sums += EIGHT;
        }
    }
    include_all(&spread, sums, n % EIGHT);
    return affine8_extent_of(&spread);
}
