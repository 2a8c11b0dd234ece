#include "kernels/losses.h"

#include "arith/float32.h"

float cross_entropy_f32(const int8_t *logits, uint32_t n, int32_t exponent, uint32_t label) {
    int32_t clamped = exponent < -60 ? -60 : exponent;
    clamped = clamped > 60 ? 60 : clamped;
    return cross_entropy_scaled_f32(logits, n, float32_power_of_two(clamped), label);
}
