/* Weight gradient of fully_connected: docs/arithmetic.md, section 7. */
#ifndef FULLY_CONNECTED_S8_WEIGHT_GRADIENT_H
#define FULLY_CONNECTED_S8_WEIGHT_GRADIENT_H

#include <stdint.h>

/* gradient = gradient + trunc(error * in / 2^shift) for each weight. A sample adds 127 * 127 at most: with the 65535 samples that
   a batch can have, sat32 of the text has nothing to do. */
void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                        int32_t shift, int32_t *gradient);

#endif
