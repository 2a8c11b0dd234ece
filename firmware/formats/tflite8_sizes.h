/* The sizes of the buffers of the plan: docs/memory.md, sizes of scratch. They are the same on every core. No
   kernel needs more (firmware/host/tests/test_graph_sizes.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "graph/file.h"

enum { GRADIENT_CHANNELS = 8 }; /* output channels whose gradient is computed at a time, except in depthwise */

/* How a layer runs in its group. */
typedef struct {
    bool has_ring; /* the depthwise layer of a chain */
    bool has_row;  /* and the chain has a third layer */
} chained_t;

/* `work`: folded biases, scratch of the kernel, ring of rows and row of a chain, one after the other. Offsets, and
   the end of the last. */
typedef struct {
    uint64_t scratch, ring, row, end;
} work_layout_t;

work_layout_t work_layout(const graph_layer_t *layer, chained_t chained);

/* Its offset `scratch`, which every run of a layer needs. */
static inline uint32_t folded_bytes(const graph_layer_t *layer) {
    return (4 * graph_channels(layer) + 7) / 8 * 8;
}

/* Positions in a row of the ring, padding included. */
uint32_t ring_width(const graph_layer_t *layer);

/* `sums`: the gradient of some channels, their errors, the scratch of the gradient's kernel, one after the other. */
typedef struct {
    uint32_t channels;             /* at a time */
    uint64_t errors, scratch, end; /* offsets of the parts, and the end of the last */
} sums_layout_t;

sums_layout_t sums_layout(const graph_layer_t *layer, bool weights);

/* `back`: the sums of an input's error, the errors of the output brought to one scale, the scratch of the kernel, one
   after the other. */
typedef struct {
    uint64_t levelled, scratch, end; /* offsets of the parts, and the end of the last */
} back_layout_t;

/* Of a layer with weights that reads so many elements. */
back_layout_t back_layout(const graph_layer_t *layer, uint64_t inputs);
