#include "kernels/perturbation.h"

#include "arith/rademacher.h"
#include "kernels/sign_moves.h"

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
