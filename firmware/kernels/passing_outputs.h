/* Which outputs an error or a perturbation passes: those strictly between the limits of the activation,
   docs/arithmetic-zeroth-order.md, section 3. */
#pragma once

#include <stdint.h>

typedef struct {
    int32_t least;
    uint32_t count; /* of values from `least` on */
} passing_t;

static inline passing_t passing_between(int8_t act_min, int8_t act_max) {
    const int32_t count = act_max - act_min - 1;
    return (passing_t){.least = act_min + 1, .count = count < 0 ? 0 : (uint32_t)count};
}

static inline int passes(int32_t value, passing_t passing) {
    return (uint32_t)(value - passing.least) < passing.count;
}
