#include "arith/affine8.h"

#include "arith/float32.h"

enum {
    CUT = 8, /* bits of a mantissa of 24 that m does not have */
    LEAST_N = 16,
    MOST_N = 46,
    MOST_M = 65535,
    STEPS = 255, /* from the first to the last number of 8 bits */
    MIDDLE = 128,
};

affine8_factor_t affine8_factor(float f, bool floors) {
    const uint32_t word = float32_bits(f);
    const int32_t n = 150 - CUT - (int32_t)(word >> 23); /* f = mant * 2^-(n + CUT) */
    if (!(f >= FLT_MIN && f <= FLT_MAX) || n > MOST_N) {
        return (affine8_factor_t){.m = 0, .n = MOST_N, .floors = floors};
    }
    if (n < LEAST_N) {
        return (affine8_factor_t){.m = MOST_M, .n = LEAST_N, .floors = floors};
    }
    const uint32_t mantissa = (word & 0x007FFFFFu) | 0x00800000u;
    return (affine8_factor_t){.m = (uint16_t)(mantissa >> CUT), .n = (uint8_t)n, .floors = floors};
}

float affine8_factor_value(affine8_factor_t factor) {
    return (float)factor.m * float32_power_of_two(-factor.n);
}

int32_t affine8_round(float x, bool floors) {
    if (!floors) {
        return float32_to_integer(x);
    }
    const int32_t towards_zero = (int32_t)x;
    return (float)towards_zero > x ? towards_zero - 1 : towards_zero;
}

affine8_params_t affine8_params(float low, float high, bool floors) {
    affine8_params_t params = {.s = (high - low) / (float)STEPS};
    params.j = 1.0f / params.s;
    const int32_t zero = affine8_round((0.0f - low) * params.j, floors);
    params.z = (int8_t)((zero < STEPS ? zero : STEPS) - MIDDLE);
    return params;
}

int32_t affine8_limit(float limit, const affine8_params_t *of) {
    return of->z + affine8_steps(limit, of->j, false);
}
