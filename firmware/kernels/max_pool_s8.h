/* max_pool: docs/arithmetic.md, section 4. */
#ifndef MAX_POOL_S8_H
#define MAX_POOL_S8_H

#include <stdint.h>

#include "kernels/shapes.h"

/* out[y][x][c]: the maximum of the window, which is kernel_h x kernel_h with stride kernel_h. */
void max_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t *out);

#endif
