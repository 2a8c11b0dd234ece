/* The layers without weights of the format affine8, and what is done to errors between layers:
   docs/arithmetic-affine8.md, sections 2 to 4. Tensors are int8, [position][channel]. */
#pragma once

#include "arith/affine8.h"
#include "kernels/affine8.h"
#include "kernels/shapes.h"

/* The sum or the product of two values: their zero points, and of a sum also their factors A and B. */
typedef struct {
    int8_t a_zero, b_zero, output_zero;
    int8_t least, most;
    int32_t a_factor, b_factor;
    affine8_factor_t factor;
} affine8_two_t;

/* A and B of two scales, of which the larger is S: rint((scale / S) * 2^14). */
float affine8_common_scale(float a, float b, int32_t factors[2]);

/* out = a + b, of `n` values; out = a * b, where each of the `channels` b goes with every one of the `positions`. */
void affine8_add(const int8_t *a, const int8_t *b, uint32_t n, const affine8_two_t *two, int8_t *out);
void affine8_multiply(const int8_t *a, const int8_t *b, uint32_t positions, uint32_t channels, const affine8_two_t *two,
                      int8_t *out);

/* What hard_swish makes of each of the 256 inputs, from -128 on; and d, the slope of its error. */
enum { AFFINE8_VALUES = 256 };
void affine8_hard_swish_outputs(const affine8_params_t *in, const affine8_params_t *out, bool floors,
                                int8_t outputs[AFFINE8_VALUES]);
void affine8_hard_swish_slopes(const affine8_params_t *in, int16_t slopes[AFFINE8_VALUES]);
void affine8_look_up(const int8_t *in, uint32_t n, const int8_t outputs[AFFINE8_VALUES], int8_t *out);

/* The value of binary32 that a cast makes. */
void affine8_cast(const int8_t *in, uint32_t n, float scale, int8_t zero, float *out);

/* Errors of outputs that are not strictly between two limits become `zero`. */
void affine8_gate(const int8_t *out, uint32_t n, int32_t least, int32_t most, int8_t zero, int8_t *error);

/* The extent of `n` values with what there is already. */
void affine8_observe(const int8_t *values, uint32_t n, int8_t extent[2]);
