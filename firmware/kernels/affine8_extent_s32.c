#include <string.h>

#include "kernels/affine8.h"
#include "kernels/affine8_spread.h"
#include "kernels/dsp.h"

/* Returns where the next are. */
static inline const int32_t *next_four(const int32_t *sums, int32_t four[4]) {
#if KERNELS_DSP
    return take_four(sums, four);
#else
    memcpy(four, sums, 4 * sizeof *sums);
    return sums + 4;
#endif
}

affine8_extent_t affine8_extent_s32(const int32_t *sums, uint32_t n) {
    affine8_spread_t spread = {0, 0};
    const int32_t *const fours = sums + n / 4 * 4, *const end = sums + n;
    while (sums != fours) {
        int32_t four[4];
        sums = next_four(sums, four);
        if (affine8_is_within(&spread, four[0]) && affine8_is_within(&spread, four[1]) &&
            affine8_is_within(&spread, four[2]) && affine8_is_within(&spread, four[3])) {
            continue; /* nearly always; the loop has less to hold than with what follows for each */
        }
        for (uint32_t i = 0; i < 4; i++) {
            affine8_include(&spread, four[i]);
        }
    }
    while (sums != end) {
        affine8_include(&spread, *sums++);
    }
    return affine8_extent_of(&spread);
}
