/* The extent of sums while they come. Private to the kernels of the format affine8. */
#pragma once

#include <stdbool.h>

#include "kernels/affine8.h"

/* lift = -least, the least sum being at most 0; and how far above the least the largest sum is. */
typedef struct {
    int32_t lift;
    uint32_t width;
} affine8_spread_t;

/* Take in a sum, which is so far above the least. One comparison without sign finds a sum outside, which few are. */
static inline void affine8_include_above(affine8_spread_t *spread, uint32_t above) {
    if (__builtin_expect(above > spread->width, 0)) {
        const int32_t sum = (int32_t)(above - (uint32_t)spread->lift);
        if (sum < -spread->lift) {
            spread->width -= above;
            spread->lift = -sum;
        } else {
            spread->width = above;
        }
    }
}

/* Whether a sum is among those so far. */
static inline bool affine8_is_within(const affine8_spread_t *spread, int32_t sum) {
    return (uint32_t)sum + (uint32_t)spread->lift <= spread->width;
}

static inline void affine8_include(affine8_spread_t *spread, int32_t sum) {
    affine8_include_above(spread, (uint32_t)sum + (uint32_t)spread->lift);
}

static inline affine8_extent_t affine8_extent_of(const affine8_spread_t *spread) {
    return (affine8_extent_t){.least = -spread->lift, .most = (int32_t)(spread->width - (uint32_t)spread->lift)};
}
