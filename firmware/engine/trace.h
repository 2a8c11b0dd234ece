/* The stages of a trace (docs/link.md), as an observer sees them: the digests of all, or the bytes of one. */
#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>

#define TRACE_ALL_STAGES 0xFFFFu

typedef struct {
    uint16_t wanted, stage; /* `wanted`: TRACE_ALL_STAGES, or the one whose bytes from `offset` on go to `out` */
    uint32_t offset;
    uint8_t *out;
    uint32_t room, length;
} stages_t;

/* See of observer_t, with a stages_t as the context: the bytes of values, followed by their exponent as int16. */
void stages_see(void *context, const int8_t *values, uint32_t bytes, int32_t exponent);

#endif
