/* -u of docs/arithmetic.md, section 9, step 6: what an update adds to a weight that has been restored. */
#pragma once

#include <stdint.h>

#include "arith/bits.h"
#include "arith/psto_shift.h"

/* -u for every z, at [z + 127]: there are far fewer values than numbers in the pool. */
typedef struct {
    int8_t of[2 * 127 + 1];
    int32_t largest; /* |u| */
} zo_update_t;

static inline int32_t zo_update_of(const zo_update_t *update, int32_t z) {
    return update->of[z + 127];
}

static inline void zo_update_fill(zo_update_t *update, int32_t r_max, int32_t sign, int32_t b_zo) {
    const int32_t s = bits((uint32_t)r_max) - b_zo;
    update->largest = 0;
    for (int32_t z = 0; z <= r_max; z++) {
        const int32_t u = s < 1 ? z : psto_shift(z, s);
        update->of[127 + z] = (int8_t)(-sign * u); /* PstoShift is odd */
        update->of[127 - z] = (int8_t)(sign * u);
        update->largest = sign != 0 && u > update->largest ? u : update->largest;
    }
}

/* Those of four z, as bytes. */
static inline uint32_t zo_update_of_four(const zo_update_t *update, uint32_t z) {
    uint32_t updates = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const int8_t byte = (int8_t)(z >> (8 * i) & 0xFFu);
        updates |= (uint32_t)(uint8_t)zo_update_of(update, byte) << (8 * i);
    }
    return updates;
}
