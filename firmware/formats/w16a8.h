/* The format w16a8: int16 weights, symmetric by tensor, and int8 values (docs/arithmetic-w16a8.md). */
#pragma once

#include "engine/format.h"
#include "graph/file.h"

enum { FORMAT_W16A8 = 4 };

/* The parameters of a layer with weights, as they lie in the file. */
typedef struct {
    graph_output_t output;
    float scale; /* s_w */
    int32_t multiplier;
    int8_t shift;
    uint8_t none;
    uint16_t largest; /* w_max */
    int32_t bias[];   /* of the output channels */
} w16a8_parameters_t;

enum { W16A8_WIDE = 32767, W16A8_NARROW = 127, W16A8_LARGEST_BIAS = 1 << 30 };

static inline const w16a8_parameters_t *w16a8_parameters(const graph_file_t *file, uint8_t l) {
    return (const void *)graph_output(file, graph_layer(file, l));
}

/* What a layer's `work` needs in bytes; 0: it has none. The same on every core: docs/memory.md. */
uint64_t w16a8_work(const graph_layer_t *layer);

extern const format_t w16a8;
