#include "engine/trace.h"

#include <string.h>

#include "arith/xxh32.h"

static void put(stages_t *stages, const void *bytes, uint32_t n) {
    const uint32_t left = stages->room - stages->length;
    const uint32_t taken = n < left ? n : left;
    memcpy(stages->out + stages->length, bytes, taken);
    stages->length += taken;
}

/* Put the bytes of a piece from the wanted offset on. The offset then counts from the end of the piece. */
static void put_from_offset(stages_t *stages, const void *bytes, uint32_t n) {
    const uint32_t skipped = stages->offset < n ? stages->offset : n;
    put(stages, (const uint8_t *)bytes + skipped, n - skipped);
    stages->offset -= skipped;
}

/* A stage: values, and the bytes that say what they stand for. */
static void see(stages_t *stages, const int8_t *values, uint32_t bytes, const uint8_t *tail, uint32_t tail_bytes) {
    if (stages->wanted == TRACE_ALL_STAGES) {
        xxh32_t digest;
        xxh32_begin(&digest, 0);
        xxh32_update(&digest, values, bytes);
        xxh32_update(&digest, tail, tail_bytes);
        const uint32_t word = xxh32_end(&digest);
        put(stages, &word, sizeof word);
    } else if (stages->stage == stages->wanted) {
        put_from_offset(stages, values, bytes);
        put_from_offset(stages, tail, tail_bytes);
    }
    stages->stage++;
}

void stages_see(void *context, const int8_t *values, uint32_t bytes, int32_t exponent) {
    const int16_t short_exponent = (int16_t)exponent;
    see(context, values, bytes, (const uint8_t *)&short_exponent, sizeof short_exponent);
}

void stages_see_scaled(void *context, const int8_t *values, uint32_t bytes, float scale, int32_t zero) {
    uint8_t tail[sizeof(float) + sizeof(int16_t)];
    const int16_t short_zero = (int16_t)zero;
    memcpy(tail, &scale, sizeof scale);
    memcpy(tail + sizeof scale, &short_zero, sizeof short_zero);
    see(context, values, bytes, tail, sizeof tail);
}
