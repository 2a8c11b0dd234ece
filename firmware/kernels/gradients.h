/* Gradients of a layer: their sum over the samples of a step (docs/arithmetic.md, section 7), and those from loss
   differences, by weight and node perturbation (docs/arithmetic-zeroth-order.md, sections 3 to 5). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The sum over samples: int32 with one exponent for the layer. */

/* gradient = trunc(gradient / 2^shift) for `n` elements, shift >= 0: brings a gradient to a larger exponent. */
void scale_gradient_s32(int32_t *gradient, uint32_t n, int32_t shift);

/* Prepare the gradient of `n` elements (weights and biases) for a sample whose gradient has exponent `x`. The `first`
   sample of a step sets all elements to 0 and *exponent to x; a larger x scales the elements down. Returns
   *exponent - x >= 0, the shift for add_gradient_s32() of this sample. */
int32_t align_gradient_s32(int32_t *gradient, uint32_t n, bool first, int32_t x, int32_t *exponent);

/* gradient = sat32(gradient + trunc(sample / 2^shift)) for `n` elements, shift >= 0. */
void add_gradient_s32(int32_t *gradient, const int32_t *sample, uint32_t n, int32_t shift);

/* Bias gradient: gradient[o] += the sum of error[p][o] over the positions. */
void tflite_bias_gradient_s8(const int8_t *error, uint32_t positions, uint32_t channels, int32_t *gradient);

/* Copy some channels of a tensor: packed[p * count + c] = values[p * channels + first + c] for c in 0..count - 1 and
   every position p. For layers whose weight gradient does not fit for all channels at once: docs/memory.md,
   `sums`. */
void pack_channels_s8(const int8_t *values, uint32_t positions, uint32_t channels, uint32_t first, uint32_t count,
                      int8_t *packed);

/* Copy listed channels of a tensor: packed[p * count + c] = values[p * channels + list[c]], as above. */
void gather_channels_s8(const int8_t *values, uint32_t positions, uint32_t channels, const uint16_t *list,
                        uint32_t count, int8_t *packed);

/* Fisher information of every output channel (docs/arithmetic-tinytrain.md, section 3): fisher[o] += v * v, with v the
   sum over the positions of (out - zero) * error, times 2^exponent. The exponent is held in -60..0. */
void add_fisher_s8(const int8_t *out, const int8_t *error, uint32_t positions, uint32_t channels, int8_t zero,
                   int32_t exponent, float *fisher);

/* From loss differences. */

/* A query: one perturbation and its loss difference. 8 bytes, an element of the buffer `queries` of
   docs/memory.md. */
typedef struct {
    uint32_t signs; /* of its next 32 draws: rademacher_begin() */
    int32_t delta;  /* its loss difference: loss_delta() */
} query_t;

_Static_assert(sizeof(query_t) == 8, "docs/memory.md");

/* Weight perturbation: sums[i] = the sum over `count` (1..127) queries of delta * xi, for each of the next `n` draws.
   Every query advances by n draws: the next call continues with the weights (or the biases) that follow. */
void signed_sums_s32(query_t *queries, uint32_t count, uint32_t n, int32_t *sums);

/* Node perturbation: the shift s that brings the errors of these queries to 8 bits; the gradient's
   exponent is s - 16. */
int32_t node_error_shift(const query_t *queries, uint32_t count);

/* Node perturbation: errors[i] = e8 of the next `n` outputs, with s = `shift`. `clean` has the outputs of the pass
   without perturbation. Every query advances by n draws. Errors have the layout of the output: height, width, channel.
   `errors` may be `clean`. */
void node_errors_s8(const int8_t *clean, uint32_t n, int8_t act_min, int8_t act_max, query_t *queries, uint32_t count,
                    int32_t shift, int8_t *errors);
