/* The memory plan of docs/memory-graph.md. */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/file.h"
#include "graph/settings.h"

/* The lines of the second table there, in its order. */
enum plan_line { PLAN_VALUE, PLAN_WORK, PLAN_NODE, PLAN_SUMS, PLAN_COORDINATES, PLAN_ERROR, PLAN_BACK, PLAN_LINES };

enum {
    PLAN_PLACES = GRAPH_MAX_LAYERS + 1
}; /* of the lines of values and errors: values 0..n; of the others layers 0..n - 1 are used */

#define PLAN_NOWHERE UINT32_MAX

/* What the plan is made for. */
typedef struct {
    const graph_file_t *file;
    const graph_settings_t *settings;
    const graph_training_t *training;
    bool in_ram; /* the file lies at the beginning of the arena */
} planned_t;

/* Offsets in the arena; PLAN_NOWHERE: the plan does not have the buffer. */
typedef struct {
    uint32_t theta[GRAPH_MAX_LAYERS], beta[GRAPH_MAX_LAYERS], grad[GRAPH_MAX_LAYERS], velocity[GRAPH_MAX_LAYERS];
    uint32_t labels, queries, samples;
    uint32_t kept;   /* end of what stays while other settings change: file, theta and beta */
    uint32_t always; /* end of what always lives */
    uint32_t size;   /* bytes of arena that the plan needs; UINT32_MAX: more than can be told, and nothing is placed */
    uint8_t first;   /* the first start; there is a prefix before where it is not 0 */
    uint32_t at[PLAN_LINES][PLAN_PLACES];
    uint32_t bytes[PLAN_LINES][PLAN_PLACES]; /* multiples of 8; 0: there is no such buffer now */
} graph_plan_t;

/* Make the plan, and place the buffers of the prefix, or of the first start. Returns the bytes that all starts need. */
uint32_t graph_plan(graph_plan_t *plan, const planned_t *planned);

/* Place the buffers anew: for the prefix, or the first start; or for the start at layer `from`, which comes after the one that is placed
   now. There, values that are kept are moved in the `arena`; NULL: nothing is. */
void graph_plan_begin(graph_plan_t *plan, const planned_t *planned);
void graph_plan_start(graph_plan_t *plan, const planned_t *planned, uint8_t from, uint8_t *arena);

#endif
