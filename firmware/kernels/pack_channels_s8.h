/* Some channels of a tensor by themselves, for kernels whose gradient would not fit for all of them: docs/memory-graph.md, `sums`. */
#ifndef PACK_CHANNELS_S8_H
#define PACK_CHANNELS_S8_H

#include <stdint.h>

/* packed[p * count + c] = values[p * channels + first + c] for c in 0..count - 1 and every position p. */
void pack_channels_s8(const int8_t *values, uint32_t positions, uint32_t channels, uint32_t first, uint32_t count,
                      int8_t *packed);

#endif
