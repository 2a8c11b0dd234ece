#include "kernels/move_f32.h"

#include "arith/float32.h"
#include "arith/normal.h"

void move_f32(float *weights, uint32_t n, uint32_t state, float c) {
    const float unit = c * float32_power_of_two(-NORMAL_FRACTION);
    for (uint32_t i = 0; i < n; i++) {
        const float moved = unit * (float)normal_of_word(normal_word(state, i));
        weights[i] = weights[i] + moved;
    }
}
