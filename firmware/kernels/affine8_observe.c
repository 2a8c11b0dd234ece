#include "kernels/affine8_elementwise.h"

void affine8_observe(const int8_t *values, uint32_t n, int8_t extent[2]) {
    int8_t least = extent[0], most = extent[1];
    for (uint32_t i = 0; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    extent[0] = least;
    extent[1] = most;
}
