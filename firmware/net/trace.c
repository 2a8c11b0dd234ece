#include "net/trace.h"

#include <string.h>

#include "arith/xxh32.h"
#include "net/backward.h"
#include "net/forward.h"

typedef struct {
    uint16_t wanted, stage;
    uint32_t offset;
    uint8_t *out;
    uint32_t room, length;
} trace_t;

static void put(trace_t *trace, const void *bytes, uint32_t n) {
    const uint32_t left = trace->room - trace->length;
    const uint32_t taken = n < left ? n : left;
    memcpy(trace->out + trace->length, bytes, taken);
    trace->length += taken;
}

/* The bytes of a piece that lie behind the wanted offset; the offset then counts from the piece's end. */
static void put_behind_offset(trace_t *trace, const void *bytes, uint32_t n) {
    const uint32_t skipped = trace->offset < n ? trace->offset : n;
    put(trace, (const uint8_t *)bytes + skipped, n - skipped);
    trace->offset -= skipped;
}

static void see(void *context, const int8_t *values, uint32_t count, int32_t exponent) {
    trace_t *trace = context;
    const int16_t short_exponent = (int16_t)exponent;
    if (trace->wanted == TRACE_ALL_STAGES) {
        xxh32_t digest;
        xxh32_begin(&digest, 0);
        xxh32_update(&digest, values, count);
        xxh32_update(&digest, &short_exponent, sizeof short_exponent);
        const uint32_t word = xxh32_end(&digest);
        put(trace, &word, sizeof word);
    } else if (trace->stage == trace->wanted) {
        put_behind_offset(trace, values, count);
        put_behind_offset(trace, &short_exponent, sizeof short_exponent);
    }
    trace->stage++;
}

uint32_t trace(model_t *model, uint16_t slot, uint16_t group, uint16_t stage, uint32_t offset, uint8_t *out, uint32_t room) {
    trace_t trace = {.wanted = stage, .offset = offset, .out = out, .room = room};
    const uint16_t first = group > 1 ? 0 : slot;
    const observer_t observer = {.see = see, .context = &trace, .member = (uint16_t)(slot - first)};
    const int8_t *samples = model_sample(model, first);
    model->observer = &observer;
    forward(model, samples, group);
    if (model->first_bp < model->network.layers) {
        backward_begin(model);
        backward(model, samples, model_labels(model) + first, group);
    }
    model->observer = NULL;
    return trace.length;
}
