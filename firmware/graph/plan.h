/* The memory plan of docs/memory-graph.md. */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/file.h"
#include "graph/settings.h"

/* The lines of the second table there, in its order. */
enum plan_line { PLAN_VALUE, PLAN_FOLDED, PLAN_SCRATCH, PLAN_RING, PLAN_NODE, PLAN_SUMS, PLAN_COORDINATES, PLAN_LINES };

enum { PLAN_PLACES = GRAPH_MAX_LAYERS + 1 }; /* of a line: values 0..n; of the others layers 0..n - 1 are used */

#define PLAN_NOWHERE UINT32_MAX

/* Offsets in the arena; PLAN_NOWHERE: the plan does not have the buffer. */
typedef struct {
    uint32_t theta[GRAPH_MAX_LAYERS], beta[GRAPH_MAX_LAYERS], grad[GRAPH_MAX_LAYERS];
    uint32_t labels, queries, samples;
    uint32_t kept;   /* end of what stays while other settings change: file, theta and beta */
    uint32_t always; /* end of what always lives */
    uint32_t size;   /* bytes of arena that the plan needs; UINT32_MAX: more than can be told, and nothing is placed */
    uint32_t at[PLAN_LINES][PLAN_PLACES];
    uint32_t bytes[PLAN_LINES][PLAN_PLACES]; /* multiples of 8; 0: there is no such buffer */
} graph_plan_t;

/* Place all buffers; `in_ram`: the file lies at the beginning of the arena. Returns the bytes that are needed. */
uint32_t graph_plan(graph_plan_t *plan, const graph_file_t *file, bool in_ram, const graph_settings_t *settings,
                    const graph_training_t *training);

#endif
