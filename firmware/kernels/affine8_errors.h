/* How an error becomes a tensor of 8 bits: docs/arithmetic-affine8.md, section 2. */
#pragma once

#include "arith/affine8.h"
#include "kernels/affine8.h"

/* Scale and zero point of an error; s = 0: all of it is 0. */
typedef struct {
    float s;
    int8_t z;
} affine8_error_t;

/* Fill in the sums first..first + n - 1 of an integer tensor. */
typedef void affine8_fill_t(const void *context, uint32_t first, uint32_t n, int32_t *sums);

/* The extent of all sums, and then what affine8_requantize_s32() makes of them, to the output that they are for. */
typedef struct {
    affine8_extent_t (*measure)(const void *context, uint32_t n);
    void (*write)(const void *context, uint32_t n, affine8_factor_t factor, int8_t zero, bool within);
} affine8_passes_t;

/* An integer tensor of `n` sums, each worth c. */
typedef struct {
    affine8_fill_t *fill;           /* NULL: the context is the sums */
    const affine8_passes_t *passes; /* NULL: over the sums that `fill` makes */
    const void *context;
    uint32_t n;
    float c;
} affine8_tensor_t;

/* L and U of a tensor. */
typedef struct {
    float low, high;
} affine8_running_t;

/* The rounding of the graph; and the range of former samples, which takes a share of what is seen, or NULL. */
typedef struct {
    bool floors;
    affine8_running_t *running;
    float momentum;
} affine8_rule_t;

/* `out` may begin where the sums do, and where the errors do of which `fill` makes them one by one. */
affine8_error_t affine8_quantize_sums(const affine8_tensor_t *tensor, const affine8_rule_t *rule, int8_t *out);

/* A float tensor becomes 8 bits: numbers in memory, or the error of logits for a label, softmax less one-hot. */
affine8_error_t affine8_quantize_f32(const float *values, uint32_t n, bool floors, int8_t *out);
affine8_error_t affine8_logits_error(const int8_t *logits, uint32_t n, float scale, uint32_t label, bool floors,
                                     int8_t *out);

/* Add a second error of a value to the first, in place. */
affine8_error_t affine8_merge_errors(int8_t *error, affine8_error_t of, const int8_t *second, affine8_error_t of_second,
                                     uint32_t n, bool floors);

/* The errors of what hard_swish and multiply read, as integer tensors. That of hard_swish leaves nothing of `error`,
   which lies apart from `out`. */
affine8_error_t affine8_hard_swish_error(const int8_t *in, const int16_t *slopes, int8_t *error, affine8_error_t of,
                                         uint32_t n, const affine8_rule_t *rule, int8_t *out);

/* The value that an error is multiplied by, with its zero point and scale; of a multiply with so many channels. */
typedef struct {
    const int8_t *other;
    int8_t zero;
    float scale;
    uint32_t positions, channels;
} affine8_product_t;

affine8_error_t affine8_multiply_error_of_a(const affine8_product_t *b, const int8_t *error, affine8_error_t of,
                                            const affine8_rule_t *rule, int8_t *out);
/* `sums` has room for one for each channel; `out` may begin there. */
affine8_error_t affine8_multiply_error_of_b(const affine8_product_t *a, const int8_t *error, affine8_error_t of,
                                            const affine8_rule_t *rule, int32_t *sums, int8_t *out);
