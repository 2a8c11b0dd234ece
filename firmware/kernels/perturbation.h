/* Perturbations of +1 and -1 in the format tflite8: docs/arithmetic-zeroth-order.md, section 3. Each kernel takes a
   stream of random signs (rademacher_begin() in arith/rademacher.h) and returns the state of the stream after its
   draws. */
#pragma once

#include <stdint.h>

/* w = w + k * xi for `n` weights, k in {1, -1}. The weights are aligned to 4 bytes and within -126..126 before they are
   perturbed, so that no byte overflows: the same signs with the other k restore them exactly. */
uint32_t perturb_weights_s8(int8_t *weights, uint32_t n, uint32_t signs, int32_t k);

/* The binary logarithm of m_o for a channel with this shift (-31..30). */
static inline int32_t bias_step_exponent(int32_t shift) {
    const int32_t wanted = shift < 0 ? -shift : 0;
    return wanted < 20 ? wanted : 20;
}

/* bias = bias + k * xi * m_o for `n` biases, k in {1, -1}; shift[o] is the shift of the bias's channel. The biases are
   within
   +-2^30. */
uint32_t perturb_biases_s32(int32_t *bias, const int8_t *shift, uint32_t n, uint32_t signs, int32_t k);

/* Node perturbation: out = a + xi for each of `n` outputs `a` strictly between act_min and act_max, out = a for the
   others. Every output takes a draw. `out` may be `in`, else they do not overlap; both are aligned to 4 bytes. */
uint32_t perturb_nodes_s8(const int8_t *in, uint32_t n, int8_t act_min, int8_t act_max, uint32_t signs, int8_t *out);
