/* Scales, zero points and rounding of the format affine8: docs/arithmetic-affine8.md, section 2. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arith/float32.h"

/* A factor of about m * 2^-n, and the rounding of what is multiplied by it. */
typedef struct {
    uint16_t m;
    uint8_t n;   /* 16..46 */
    bool floors; /* rounds down, else to nearest */
} affine8_factor_t;

affine8_factor_t affine8_factor(float f, bool floors);

/* m * 2^-n, exact. */
float affine8_factor_value(affine8_factor_t factor);

/* R(a, m, n). */
static inline int32_t affine8_rescale(int64_t a, affine8_factor_t factor) {
    const int64_t half = factor.floors ? 0 : INT64_C(1) << (factor.n - 1);
    return (int32_t)((a * factor.m + half) >> factor.n);
}

/* Scale, its reciprocal and zero point of a range; and a real number in it. */
typedef struct {
    float s, j;
    int8_t z;
} affine8_params_t;

affine8_params_t affine8_params(float low, float high, bool floors);

/* Where a limit of an output lies, before it is limited to int8. */
int32_t affine8_limit(float limit, const affine8_params_t *of);

/* Q(x), |x| <= 2^30: the nearest integer, half to even; or the next lower one. */
int32_t affine8_round(float x, bool floors);

/* How many steps a real number is from 0, at most 512. */
static inline int32_t affine8_steps(float x, float j, bool floors) {
    const float far = 512.0f, held = float32_hold(x * j, -far, far);
    return floors ? affine8_round(held, true) : (int32_t)float32_round(held);
}

static inline int8_t affine8_quantize(float x, float j, int8_t z, bool floors) {
    const int32_t q = z + affine8_steps(x, j, floors);
    const int32_t raised = q < INT8_MIN ? INT8_MIN : q;
    return (int8_t)(raised > INT8_MAX ? INT8_MAX : raised);
}
