#include "kernels/affine8.h"

/* One comparison without sign finds a sum outside the range so far, which few are. */
static inline void include(affine8_extent_t *extent, int32_t sum) {
    if ((uint32_t)sum - (uint32_t)extent->least > (uint32_t)extent->most - (uint32_t)extent->least) {
        if (sum < extent->least) {
            extent->least = sum;
        } else {
            extent->most = sum;
        }
    }
}

affine8_extent_t affine8_extent_s32(const int32_t *sums, uint32_t n) {
    affine8_extent_t extent = {0, 0};
    const int32_t *const fours = sums + n / 4 * 4, *const end = sums + n;
    for (; sums != fours; sums += 4) {
        include(&extent, sums[0]);
        include(&extent, sums[1]);
        include(&extent, sums[2]);
        include(&extent, sums[3]);
    }
    while (sums != end) {
        include(&extent, *sums++);
    }
    return extent;
}
