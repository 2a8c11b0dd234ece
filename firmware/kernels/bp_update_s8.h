/* Update of a tensor trained by back-propagation: docs/arithmetic.md, section 7. */
#ifndef BP_UPDATE_S8_H
#define BP_UPDATE_S8_H

#include <stdint.h>

/* weights = clip127(weights - g), g the gradient brought to b_bp bits. */
void bp_update_s8(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b_bp);

#endif
