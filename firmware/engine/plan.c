#include "engine/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Add the bytes of a buffer, rounded up, to a sum. Returns false where the sum does not fit 32 bits. */
static bool count(uint32_t *sum, uint64_t bytes) {
    const uint64_t rounded = (bytes + 7) / 8 * 8;
    *sum = rounded < UINT32_MAX - *sum ? *sum + (uint32_t)rounded : UINT32_MAX;
    return *sum < UINT32_MAX;
}

static void insert(placing_t *placing, uint16_t i, buffer_t buffer) {
    if (placing->count == placing->room) {
        placing->sum = UINT32_MAX;
        return;
    }
    memmove(&placing->buffer[i + 1], &placing->buffer[i], (placing->count - i) * sizeof buffer);
    placing->buffer[i] = buffer;
    placing->count++;
}

void plan_clear(plan_t *plan) {
    plan->kept = plan->always = plan->size = 0;
    for (uint16_t place = 0; place < PLAN_PLACES; place++) {
        plan->at[place] = PLAN_NOWHERE;
    }
}

void plan_stand(plan_t *plan, uint16_t place, uint64_t bytes) {
    plan->at[place] = plan->always;
    (void)count(&plan->always, bytes);
}

void plan_keep(placing_t *placing, uint16_t place, uint64_t bytes, uint8_t first, uint8_t last) {
    const uint32_t before = placing->sum, *at = placing->plan->at;
    uint16_t i = placing->kept;
    if (count(&placing->sum, bytes)) {
        while (i > 0 && at[placing->buffer[i - 1].place] > at[place]) {
            i--;
        }
        insert(placing, i, (buffer_t){.bytes = placing->sum - before, .place = place, .first = first, .last = last});
        placing->kept++;
    }
}

void plan_add(placing_t *placing, uint16_t place, uint64_t bytes, uint8_t first, uint8_t last) {
    const uint32_t before = placing->sum;
    uint16_t i = placing->count;
    if (count(&placing->sum, bytes)) {
        const uint32_t rounded = placing->sum - before;
        while (i > placing->kept && placing->buffer[i - 1].bytes < rounded) {
            i--;
        }
        insert(placing, i, (buffer_t){.bytes = rounded, .place = place, .first = first, .last = last});
    }
}

void plan_share(placing_t *placing, uint16_t place) {
    plan_add(placing, place, 0, 0, 0);
}

/* The end of a buffer before the i-th that is in the way at `at`, 0 when none is. */
static uint32_t end_in_the_way(const placing_t *placing, uint16_t i, uint32_t at) {
    const buffer_t *buffer = &placing->buffer[i];
    for (const buffer_t *other = placing->buffer; other < buffer; other++) {
        const uint32_t from = placing->plan->at[other->place], end = from + other->bytes;
        const bool in_time = buffer->first <= other->last && other->first <= buffer->last;
        if (in_time && at < end && from < at + buffer->bytes) {
            return end;
        }
    }
    return 0;
}

/* The lowest offset that is free: whatever is in the way, nothing below its end is. */
static uint32_t lowest_offset(const placing_t *placing, uint16_t i) {
    uint32_t at = placing->plan->always, end;
    while ((end = end_in_the_way(placing, i, at)) > 0) {
        at = end;
    }
    return at;
}

/* Kept buffers go down, the lowest first: none is written over before it has been moved. */
static uint32_t place_kept(placing_t *placing, uint8_t *arena) {
    uint32_t end = placing->plan->always;
    for (uint16_t i = 0; i < placing->kept; i++) {
        uint32_t *at = &placing->plan->at[placing->buffer[i].place];
        if (arena != NULL && *at != end) {
            memmove(arena + end, arena + *at, placing->buffer[i].bytes);
        }
        *at = end;
        end += placing->buffer[i].bytes;
    }
    return end;
}

void plan_close(placing_t *placing, uint8_t *arena) {
    plan_t *plan = placing->plan;
    if (placing->sum == UINT32_MAX) {
        plan->size = UINT32_MAX;
        return;
    }
    const uint32_t kept = place_kept(placing, arena);
    plan->size = kept > plan->size ? kept : plan->size;
    for (uint16_t i = placing->kept; i < placing->count; i++) {
        const buffer_t *buffer = &placing->buffer[i];
        const uint32_t at = buffer->bytes > 0 ? lowest_offset(placing, i) : plan->at[buffer->place - 1];
        plan->at[buffer->place] = at;
        plan->size = at + buffer->bytes > plan->size ? at + buffer->bytes : plan->size;
    }
}
