/* The moments of AdamW of a tensor, in the order of its elements. V is never negative: 32 elements keep 31 of them in
   words of their own, and that of the last one in the signs of these. So they need 63 words, not 64. */
#pragma once

#include "kernels/updates_f32.h"

enum { MOMENTS_BLOCK = 32, MOMENTS_BLOCK_WORDS = 2 * MOMENTS_BLOCK - 1 };

static inline uint64_t moments_bytes(uint64_t elements) {
    return sizeof(uint32_t) * (elements / MOMENTS_BLOCK * MOMENTS_BLOCK_WORDS + 2 * (elements % MOMENTS_BLOCK));
}

/* Those of an element; and put them back. */
adamw_moments_t moments_at(const uint32_t *moments, uint32_t i);
void moments_put(uint32_t *moments, uint32_t i, adamw_moments_t value);
