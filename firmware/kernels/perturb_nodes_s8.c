#include "kernels/perturbation.h"

#include "arith/rademacher.h"
#include "kernels/sign_moves.h"

static void move_word(const int8_t *in, uint32_t signs, const gate_t *gate, int8_t *out) {
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
        move_word(in, signs, &gate, out);
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
