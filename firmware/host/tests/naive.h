/* docs/arithmetic.md once more, as plainly as the text allows: 64-bit integers, divisions, no blocking, no shared
   buffers. */
#pragma once

#include <stdint.h>

#include "graph/file.h"
#include "kernels/shapes.h"
#include "methods/elasticzo_int8.h"

int64_t naive_power(int64_t n); /* 2^n */
int64_t naive_clip(int64_t x, int64_t limit);
int64_t naive_clip127(int64_t x);
int64_t naive_sat32(int64_t x);
int64_t naive_trunc(int64_t x, int64_t n); /* trunc(x / 2^n), 0 for n >= 31 */
int64_t naive_bits(uint64_t m);
int64_t naive_round_shift(int64_t x, int64_t s);
int64_t naive_psto_shift(int64_t x, int64_t s);

/* Section 5 in binary64, each result rounded to binary32: for one operation that is what binary32 alone gives. */
float naive_exp32(float x);
float naive_log32(float x);

/* A convolution by its definition: calls `visit` for every product of weight, input and output, by their indices. */
typedef void naive_visit_t(void *context, uint32_t weight, uint32_t input, uint32_t output);
void naive_conv2d(const layer_shape_t *shape, naive_visit_t *visit, void *context);

void naive_max_pool(const int8_t *in, const layer_shape_t *shape, int8_t *out);
void naive_max_pool_backward(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int8_t *input_error);

/* Returns what the exponent grows by. */
int32_t naive_requantize(const int64_t *acc, uint32_t n, int8_t *out);

/* Section 5, loss = integer: A and B of one sample, from the logits and the exponents of the plus pass and of the minus
   pass, with loss_fraction = `fraction`; and lb(x), where fraction 0 is bits(x) - 1. */
typedef struct {
    int64_t a, b;
} naive_terms_t;

naive_terms_t naive_integer_loss(const int8_t *plus, int32_t plus_exponent, const int8_t *minus, int32_t minus_exponent,
                                 uint32_t n, uint32_t label, int64_t fraction);
int64_t naive_log2(int64_t x, int64_t fraction);

void naive_softmax_error(const int8_t *logits, uint32_t n, int32_t s, uint32_t label, uint8_t form, int8_t *error);

/* The pool of a step, and all z of a tensor in it. */
void naive_pool(int8_t pool[256][4], const elasticzo_settings_t *settings, uint32_t step);
void naive_noise(int8_t *z, uint32_t n, const elasticzo_settings_t *settings, uint32_t step, uint32_t tensor);
