/* A query of a zeroth-order step: docs/arithmetic-zeroth-order.md, sections 3 and 4. */
#ifndef QUERY_H
#define QUERY_H

#include <stdint.h>

/* 8 bytes, of the buffer `queries` of docs/memory-graph.md. */
typedef struct {
    uint32_t signs; /* of its next 32 draws: rademacher_begin() */
    int32_t delta;  /* its loss difference: loss_delta() */
} query_t;

_Static_assert(sizeof(query_t) == 8, "docs/memory-graph.md");

#endif
