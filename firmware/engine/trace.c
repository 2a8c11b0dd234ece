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

void stages_see(void *context, const int8_t *values, uint32_t bytes, int32_t exponent) {
    stages_t *stages = context;
    const int16_t short_exponent = (int16_t)exponent;
    if (stages->wanted == TRACE_ALL_STAGES) {
        xxh32_t digest;
        xxh32_begin(&digest, 0);
        xxh32_update(&digest, values, bytes);
        xxh32_update(&digest, &short_exponent, sizeof short_exponent);
        const uint32_t word = xxh32_end(&digest);
        put(stages, &word, sizeof word);
    } else if (stages->stage == stages->wanted) {
        put_from_offset(stages, values, bytes);
        put_from_offset(stages, &short_exponent, sizeof short_exponent);
    }
    stages->stage++;
}
