#include "kernels/affine8.h"

affine8_extent_t affine8_extent_s32(const int32_t *sums, uint32_t n) {
    affine8_extent_t extent = {0, 0};
    for (uint32_t i = 0; i < n; i++) {
        extent.least = sums[i] < extent.least ? sums[i] : extent.least;
        extent.most = sums[i] > extent.most ? sums[i] : extent.most;
    }
    return extent;
}
