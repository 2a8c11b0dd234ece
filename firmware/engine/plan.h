/* Places buffers in the arena (docs/memory.md). A method says which buffers there are and when
   they are in use. */
#pragma once

#include <stdint.h>

#include "graph/file.h"

/* Kinds of buffers. Values and errors have one for each value, 0..n; the others one for each layer, 0..n - 1. */
enum plan_line {
    PLAN_VALUE,
    PLAN_ERROR,
    PLAN_WORK,     /* of a layer's forward pass */
    PLAN_BACK,     /* of the error of a layer's input */
    PLAN_SUMS,     /* of a layer's gradient, while it is made */
    PLAN_GRADIENT, /* of a layer, from sample to sample */
    PLAN_WEIGHTS,  /* copies of trained weights, for a file in flash */
    PLAN_BIASES,
    PLAN_OWN, /* three of a method's own */
    PLAN_OWN_2,
    PLAN_OWN_3,
    PLAN_LINES,
};

/* Offsets by place: those of the kinds above, then the single buffers. */
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
    uint32_t kept;   /* end of what stays when settings change: the file, and copies of what is trained */
    uint32_t always; /* end of what stays through all of training */
    uint32_t size;   /* bytes of arena that the plan needs; UINT32_MAX: more than that, and nothing is placed */
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

/* Place a buffer that stays for all of training, after those that were placed before. */
void plan_stand(plan_t *plan, uint16_t place, uint64_t bytes);

/* A buffer that is in use in the slots first..last: times that only the method gives a meaning. */
typedef struct {
    uint32_t bytes; /* a multiple of 8; 0: it shares the memory of the place before its own */
    uint16_t place;
    uint8_t first, last;
} buffer_t;

/* No method has more buffers at a time: six kinds for 64 layers, values among them, or seven kinds for 32 layers and
   six single buffers. A network of few layers has fewer, and its plan takes less stack. */
enum {
    PLAN_MAX_BUFFERS = 6 * GRAPH_MAX_LAYERS + 1,
    PLAN_FEW_LAYERS = 16,
    PLAN_FEW_BUFFERS = 7 * PLAN_FEW_LAYERS + 6,
};

/* Buffers that are being placed: first those that are kept, by offset, then the others, the largest first. */
typedef struct {
    plan_t *plan;
    uint32_t sum; /* bytes of all, side by side; UINT32_MAX: more than that */
    uint16_t kept, count, room;
    buffer_t *buffer;
} placing_t;

/* Begin to place buffers after those that stay, with room for `room` of them. */
static inline placing_t plan_open(plan_t *plan, buffer_t *buffer, uint16_t room) {
    return (placing_t){.plan = plan, .sum = plan->always, .room = room, .buffer = buffer};
}

/* Keep a buffer that is placed already: it is moved, with its content, to the end of what stays. Call this before
   plan_add. */
void plan_keep(placing_t *placing, uint16_t place, uint64_t bytes, uint8_t first, uint8_t last);

/* Add a buffer. Of buffers of equal size the one that was added first is placed first. */
void plan_add(placing_t *placing, uint16_t place, uint64_t bytes, uint8_t first, uint8_t last);

/* Add a buffer that shares the memory of the one in the place before its own. */
void plan_share(placing_t *placing, uint16_t place);

/* Place all buffers. Buffers that are kept are moved in the `arena`, unless it is NULL. */
void plan_close(placing_t *placing, uint8_t *arena);
