/* Perturbation of a tensor: docs/arithmetic.md, section 8. */
#ifndef PERTURB_S8_H
#define PERTURB_S8_H

#include <stdint.h>

#include "kernels/noise.h"

/* weights = clip127(weights + k * z), z from the stream that begins at `noise`. */
void perturb_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t k);

#endif
