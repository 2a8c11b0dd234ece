/* Weights, biases and outputs moved by 1 or -1: docs/arithmetic-zeroth-order.md, section 3. */
#include "kernels/perturbation.h"

#include "arith/rademacher.h"
#include "kernels/core.h"
#include "kernels/sign_moves.h"

#define BIT(signs, i) ((signs) >> (i) & 1u)
#if KERNELS_DSP
#define MOVES(signs)                                                                                                   \
    (0x01010101u + 0xFEu * (BIT(signs, 0) | BIT(signs, 1) << 8 | BIT(signs, 2) << 16 | BIT(signs, 3) << 24))
#else
#define MOVES(signs)                                                                                                   \
    (0x01010101u - 2u * (BIT(signs, 0) | BIT(signs, 1) << 8 | BIT(signs, 2) << 16 | BIT(signs, 3) << 24))
#endif

const uint32_t four_moves[16] = {MOVES(0u),  MOVES(1u),  MOVES(2u),  MOVES(3u), MOVES(4u),  MOVES(5u),
                                 MOVES(6u),  MOVES(7u),  MOVES(8u),  MOVES(9u), MOVES(10u), MOVES(11u),
                                 MOVES(12u), MOVES(13u), MOVES(14u), MOVES(15u)};

static void move_word(int8_t *weights, uint32_t signs) {
    weights = __builtin_assume_aligned(weights, 4);
    for (uint32_t i = 0; i < SIGNS_PER_WORD; i += 4) {
        store_word(weights + i, move_four(load_word(weights + i), moves_of(signs, i)));
    }
}

uint32_t perturb_weights_s8(int8_t *weights, uint32_t n, uint32_t signs, int32_t k) {
    const uint32_t turned = k < 0 ? 0xFFFFFFFFu : 0u;
    for (; n >= SIGNS_PER_WORD; n -= SIGNS_PER_WORD) {
        move_word(weights, signs ^ turned);
        weights += SIGNS_PER_WORD;
        signs = rademacher_next(signs);
    }
    for (uint32_t i = 0; i < n; i++) {
        weights[i] = (int8_t)(weights[i] + ((signs >> i & 1u) != 0 ? -k : k));
    }
    return rademacher_skip(signs, n);
}

uint32_t perturb_biases_s32(int32_t *bias, const int8_t *shift, uint32_t n, uint32_t signs, int32_t k) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t xi = (signs & 1u) != 0 ? -k : k;
        bias[i] += xi * (INT32_C(1) << bias_step_exponent(shift[i]));
        signs = rademacher_skip(signs, 1);
    }
    return signs;
}

static void move_passing_word(const int8_t *in, uint32_t signs, const gate_t *gate, int8_t *out) {
    in = __builtin_assume_aligned(in, 4);
    out = __builtin_assume_aligned(out, 4);
    for (uint32_t i = 0; i < SIGNS_PER_WORD; i += 4) {
        store_word(out + i, move_passing(load_word(in + i), moves_of(signs, i), gate));
    }
}

uint32_t perturb_nodes_s8(const int8_t *in, uint32_t n, int8_t act_min, int8_t act_max, uint32_t signs, int8_t *out) {
    const passing_t passing = passing_between(act_min, act_max);
    const gate_t gate = gate_of(passing);
    for (; n >= SIGNS_PER_WORD; n -= SIGNS_PER_WORD) {
        move_passing_word(in, signs, &gate, out);
        in += SIGNS_PER_WORD;
        out += SIGNS_PER_WORD;
        signs = rademacher_next(signs);
    }
    for (uint32_t i = 0; i < n; i++) {
        const int32_t xi = (signs >> i & 1u) != 0 ? -1 : 1;
        out[i] = (int8_t)(passes(in[i], passing) ? in[i] + xi : in[i]);
    }
    return rademacher_skip(signs, n);
}
