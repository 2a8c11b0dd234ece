/* Updates of trained values from a gradient, and their limits, in the formats bfp8 (docs/arithmetic.md, sections 7
   and 8) and tflite8, with and without momentum (docs/arithmetic-zeroth-order.md, sections 2 and 6;
   docs/arithmetic-tflite.md, section 7.4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arith/integers.h"

/* weights = clip(weights) to -limit..limit, for `n` weights. */
void limit_s8(int8_t *weights, uint32_t n, int32_t limit);
void limit_s16(int16_t *weights, uint32_t n, int32_t limit);

/* values = clip(values) to -limit..limit, for `n` biases, limit >= 0. */
void limit_s32(int32_t *values, uint32_t n, int32_t limit);

/* bfp8: weights = clip127(weights - g) for `n` weights, where g is the gradient rounded to b_bp bits. */
void bp_update_s8(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b_bp);

/* tflite8: weights and biases at rest are within plus or minus these (docs/arithmetic-zeroth-order.md, section 2). */
enum { WEIGHT_LIMIT = 126, BIAS_LIMIT = (1 << 30) - (1 << 20) };

/* The update of one layer. */
typedef struct {
    float rate;     /* update_rate() */
    bool nodes;     /* the gradient comes from errors of the outputs: node perturbation, back-propagation */
    float factor;   /* with `nodes`: C of the output, 1 with node perturbation */
    bool qas;       /* quantization-aware scaling */
    bool depthwise; /* weights are height, width, channel; else output first */
    uint32_t taps;  /* weights of one output channel */
    uint32_t channels;
    float input_scale;
    const float *weight_scale; /* these three by output channel */
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t exponent; /* E, of the gradient */
} gradient_update_t;

/* f of one channel and, with the gradient's exponent, how it is applied: D = G * m / 2^n. m = 0: no update. */
typedef struct {
    uint32_t m; /* 2^23..2^24 - 1 */
    int32_t n;
} update_factor_t;

/* The part of f that all channels of a layer share: `eta`, with gns scaled for `dimensions` (d), divided by
   samples * queries. */
float update_rate(float eta, bool gns, uint32_t samples, uint32_t queries, uint32_t dimensions);

/* The factor of output channel `o`, for its weights or for its bias. */
update_factor_t weight_update_factor(const gradient_update_t *update, uint32_t o);
update_factor_t bias_update_factor(const gradient_update_t *update, uint32_t o);

/* D of one element for any n: -2^30..2^30. */
int32_t update_step(int32_t gradient, update_factor_t factor);

/* The same for n in 33..62: the half lies above the lower word of the product, and no result reaches 2^30. */
static inline int32_t update_step_upper(int32_t gradient, uint32_t m, int32_t n) {
    const uint32_t upper = (uint32_t)((uint64_t)magnitude(gradient) * m >> 32);
    const int32_t step = (int32_t)((upper + (1u << (n - 33))) >> (n - 32));
    return gradient < 0 ? -step : step;
}

/* Update `n` weights of a layer. weights[i] and gradient[i] have the index first + i in the tensor. `sums` has the sum
   of the weights of every output channel of the layer, and is kept up to date. */
void apply_gradient_s8(int8_t *weights, const int32_t *gradient, uint32_t first, uint32_t n,
                       const gradient_update_t *update, int32_t *sums);

/* Update `n` biases. bias[i] and gradient[i] belong to output channel first + i. */
void apply_gradient_s32(int32_t *bias, const int32_t *gradient, uint32_t first, uint32_t n,
                        const gradient_update_t *update);

/* The same two with momentum: velocity[i] belongs to weights[i] or bias[i], and is updated from gradient[i] first. */
void apply_velocity_s8(int8_t *weights, float *velocity, const int32_t *gradient, uint32_t first, uint32_t n,
                       float momentum, const gradient_update_t *update, int32_t *sums);
void apply_velocity_s32(int32_t *bias, float *velocity, const int32_t *gradient, uint32_t first, uint32_t n,
                        float momentum, const gradient_update_t *update);
