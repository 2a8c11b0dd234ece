/* XXH32, as its published specification has it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A digest in the making. */
typedef struct {
    uint32_t lane[4];
    uint32_t seed;
    uint32_t length;     /* bytes taken, modulo 2^32 */
    uint8_t waiting[16]; /* the bytes of the stripe that is not complete */
    uint8_t fill;
} xxh32_t;

void xxh32_begin(xxh32_t *state, uint32_t seed);
void xxh32_update(xxh32_t *state, const void *data, size_t n);
uint32_t xxh32_end(const xxh32_t *state);

/* The digest of `n` bytes. */
uint32_t xxh32(const void *data, size_t n, uint32_t seed);
