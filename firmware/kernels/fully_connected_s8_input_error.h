/* Error of the input of fully_connected: docs/arithmetic.md, section 7. */
#ifndef FULLY_CONNECTED_S8_INPUT_ERROR_H
#define FULLY_CONNECTED_S8_INPUT_ERROR_H

#include <stdint.h>

/* acc[j]: the exact sum over the outputs of weight times error. */
void fully_connected_s8_input_error(const int8_t *error, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                                    int32_t *acc);

#endif
