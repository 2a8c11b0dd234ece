/* The memory plan of docs/memory.md. */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/file.h"
#include "net/training.h"

/* blob, labels, samples, plus_logits, plus_exponents, noise, and for each layer act, acc, scratch, err, eacc, bscratch and grad. */
#define PLAN_MAX_BUFFERS (6 + 7 * ENGINE_MAX_LAYERS)

typedef struct {
    uint32_t size, offset; /* bytes, multiples of 8 */
    uint32_t *to;          /* where the offset is also written, for those who use the buffer; may be NULL */
    uint8_t first, last;   /* time slots */
    bool placed;
} buffer_t;

/* Offsets in the arena. A buffer that the plan does not have is at offset 0, where the blob is. */
typedef struct {
    uint32_t labels, samples, plus_logits, plus_exponents, noise;
    struct {
        uint32_t act, acc, scratch, err, eacc, bscratch, grad;
    } layer[ENGINE_MAX_LAYERS];
    uint32_t size; /* bytes of arena that the plan needs */
    uint32_t sum;  /* bytes of all buffers side by side; UINT32_MAX: more than that */
    uint16_t buffers;
    buffer_t buffer[PLAN_MAX_BUFFERS]; /* in the order of docs/memory.md */
} plan_t;

/* Place all buffers of a step with these settings. Returns the bytes that are needed, also in plan->size; UINT32_MAX, with no
   buffer placed, if sizes are beyond 32 bits. */
uint32_t plan_make(plan_t *plan, const graph_file_t *file, const settings_t *settings);

#endif
