/* Where buffers lie in the arena (docs/memory.md, docs/memory-graph.md). What buffers there are, and when they are in
   use, a method says; here they are placed. */
#pragma once

#include <stdint.h>

#include "graph/file.h"

/* Kinds of buffers: of values and errors one a value, 0..n; of the others one a layer, 0..n - 1. */
enum plan_line {
    PLAN_VALUE,
    PLAN_ERROR,
    PLAN_WORK,     /* of a layer's forward pass */
    PLAN_BACK,     /* of the error of a layer's input */
    PLAN_SUMS,     /* of a layer's gradient, while it is made */
    PLAN_GRADIENT, /* of a layer, from sample to sample */
    PLAN_WEIGHTS,  /* copies of what is trained of a file in flash */
    PLAN_BIASES,
    PLAN_OWN, /* a method's own */
    PLAN_LINES,
};

/* Offsets by place: those of the lines, then the buffers that there are one of. */
enum {
    PLAN_LENGTH = GRAPH_MAX_LAYERS + 1,
    PLAN_FILE = PLAN_LINES * PLAN_LENGTH,
    PLAN_LABELS,
    PLAN_SAMPLES,
    PLAN_METHOD, /* three of a method's own */
    PLAN_PLACES = PLAN_METHOD + 3,
};

#define PLAN_NOWHERE UINT32_MAX

/* Offsets in the arena, multiples of 8; PLAN_NOWHERE: the plan does not have the buffer. */
typedef struct {
    uint32_t kept;   /* end of what stays while other settings change: the file, and copies of what is trained */
    uint32_t always; /* end of what stays through all of training */
    uint32_t size;   /* bytes of arena that the plan needs; UINT32_MAX: more than can be told, and nothing is placed */
    uint32_t at[PLAN_PLACES];
} plan_t;

static inline uint16_t plan_place(enum plan_line line, uint8_t i) {
    return (uint16_t)(line * PLAN_LENGTH + i);
}

static inline uint32_t plan_at(const plan_t *plan, enum plan_line line, uint8_t i) {
    return plan->at[plan_place(line, i)];
}

/* Forget all buffers. */
void plan_clear(plan_t *plan);

/* A buffer that stays through all of training: behind the one before it. */
void plan_stand(plan_t *plan, uint16_t place, uint64_t bytes);

/* A buffer that is in use in the slots first..last: times that mean something to the method alone. */
typedef struct {
    uint32_t bytes; /* a multiple of 8; 0: it shares the memory of the place before its own */
    uint16_t place;
    uint8_t first, last;
} buffer_t;

/* No method has more buffers at a time: five lines of 64 layers, values among them, or seven and six others of 32. Of
   a network of few layers there are fewer: a plan for it takes less stack. */
enum {
    PLAN_MAX_BUFFERS = 5 * GRAPH_MAX_LAYERS + 1,
    PLAN_FEW_LAYERS = 16,
    PLAN_FEW_BUFFERS = 7 * PLAN_FEW_LAYERS + 6,
};

/* Buffers on their way into a plan: first those that are kept, by their offsets, then the others, the largest first. */
typedef struct {
    plan_t *plan;
    uint32_t sum; /* bytes of all, side by side; UINT32_MAX: more than can be told */
    uint16_t kept, count, room;
    buffer_t *buffer;
} placing_t;

/* Begin to place, behind what stays, with room for so many buffers. */
static inline placing_t plan_open(plan_t *plan, buffer_t *buffer, uint16_t room) {
    return (placing_t){.plan = plan, .sum = plan->always, .room = room, .buffer = buffer};
}

/* A buffer that is placed already, and is moved to the end of what stays with what is in it. Before all that are
   added. */
void plan_keep(placing_t *placing, uint16_t place, uint64_t bytes, uint8_t first, uint8_t last);

/* A buffer that is to be placed. Of equal sizes the one that was added first is placed first. */
void plan_add(placing_t *placing, uint16_t place, uint64_t bytes, uint8_t first, uint8_t last);

/* A buffer in the memory of the one whose place is before its own. */
void plan_share(placing_t *placing, uint16_t place);

/* Place all buffers; what is kept is moved in the `arena`, unless it is NULL. */
void plan_close(placing_t *placing, uint8_t *arena);
