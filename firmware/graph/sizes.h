/* How large the buffers of the plan are: docs/memory-graph.md, sizes of scratch. The numbers are those of the page, the same on every
   core; no kernel asks for more (firmware/host/tests/test_graph_sizes.c). */
#ifndef GRAPH_SIZES_H
#define GRAPH_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/file.h"

enum { GRADIENT_CHANNELS = 8 }; /* output channels whose gradient is made at a time, but for depthwise */

/* Of the kernel of a layer with weights; `second`: it runs as the second of a pair. */
uint64_t scratch_bytes(const graph_layer_t *layer, bool second);

/* Positions in a row of the ring of the second of a pair, padding included; and the bytes of the ring. */
uint32_t ring_width(const graph_layer_t *layer);
uint64_t ring_bytes(const graph_layer_t *layer);

/* `sums`: the gradient of some channels, their errors, the scratch of the gradient's kernel, one behind the other. */
typedef struct {
    uint32_t channels; /* at a time */
    uint64_t errors, scratch, end; /* offsets of the parts, and the end of the last */
} sums_layout_t;

sums_layout_t sums_layout(const graph_layer_t *layer, bool weights);

#endif
