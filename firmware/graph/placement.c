#include "graph/placement.h"

#include <stddef.h>
#include <string.h>

#include "graph/sizes.h"

/* When each buffer is in use at this start. */
typedef struct {
    interval_t of[PLAN_LINES][PLAN_PLACES];
} slots_table_t;

/* A buffer that is to be placed. */
typedef struct {
    uint8_t line, i;
    uint32_t bytes, at;
} place_t;

static uint64_t up_8(uint64_t n) {
    return (n + 7) / 8 * 8;
}

/* Bytes of a buffer that is in use at some start. */
static uint64_t bytes_of(const schedule_t *schedule, uint8_t line, uint8_t i) {
    if (line == PLAN_VALUE || line == PLAN_ERROR) {
        return up_8(graph_elements(schedule->file, i));
    }
    const graph_training_t *training = schedule->training;
    const graph_layer_t *layer = graph_layer(schedule->file, i);
    if (line == PLAN_BACK) {
        const uint64_t inputs = graph_elements(schedule->file, layer->reads[0]);
        return graph_has_weights(layer) ? back_layout(layer, inputs).end : up_8(inputs);
    }
    const bool has_ring = in_set(training->joined, i) && layer->op == OP_DEPTHWISE;
    const chained_t chained = {.has_ring = has_ring, .has_row = has_ring && is_joined_behind(training, i)};
    switch (line) {
    case PLAN_WORK: return work_layout(layer, chained).end;
    case PLAN_NODE: return up_8(graph_outputs(layer));
    case PLAN_SUMS: return sums_layout(layer, training->weights).end;
    default: return up_8(4 * ((uint64_t)trained_weights(training, layer) + trained_biases(training, layer)));
    }
}

uint64_t sum_of_sizes(const schedule_t *schedule) {
    uint64_t sum = 0;
    for (uint8_t i = 0; i < schedule->n; i++) {
        sum += bytes_of(schedule, PLAN_VALUE, i) + bytes_of(schedule, PLAN_VALUE, (uint8_t)(i + 1));
        if (schedule->back) {
            sum += bytes_of(schedule, PLAN_ERROR, (uint8_t)(i + 1)) + bytes_of(schedule, PLAN_BACK, i);
        }
        for (uint8_t line = PLAN_WORK; line < PLAN_ERROR && graph_has_weights(graph_layer(schedule->file, i)); line++) {
            sum += bytes_of(schedule, line, i);
        }
    }
    return sum;
}

/* The kept value with the lowest place above `above` at the start before; 0xFF: none. */
static uint8_t next_kept(const graph_plan_t *plan, const schedule_t *schedule, start_t start, uint64_t above) {
    uint8_t next = UINT8_MAX;
    for (uint8_t value = 0; value <= schedule->n; value++) {
        const uint32_t at = plan->at[PLAN_VALUE][value];
        const bool lower = next == UINT8_MAX || at < plan->at[PLAN_VALUE][next];
        if (at != PLAN_NOWHERE && at >= above && lower && schedule_keeps(schedule, value, start)) {
            next = value;
        }
    }
    return next;
}

/* Kept values go down, the lowest first: none is written over before it has been moved. Returns where they end. */
static uint32_t keep(graph_plan_t *plan, const schedule_t *schedule, start_t start, slots_table_t *slots,
                     uint8_t *arena) {
    uint32_t end = plan->always, above = 0;
    for (uint8_t value = next_kept(plan, schedule, start, above); value != UINT8_MAX;
         value = next_kept(plan, schedule, start, above)) {
        const uint32_t from = plan->at[PLAN_VALUE][value], bytes = (uint32_t)bytes_of(schedule, PLAN_VALUE, value);
        if (arena != NULL && from != end) {
            memmove(arena + end, arena + from, bytes);
        }
        slots->of[PLAN_VALUE][value] = schedule_kept_slots(schedule, value, start);
        plan->at[PLAN_VALUE][value] = end;
        plan->bytes[PLAN_VALUE][value] = bytes;
        end += bytes;
        above = from + 1;
    }
    return end;
}

/* The others: which there are, and when they are in use. */
static void note_others(graph_plan_t *plan, const schedule_t *schedule, start_t start, slots_table_t *slots) {
    for (uint8_t line = 0; line < PLAN_LINES; line++) {
        for (uint8_t i = 0; i <= schedule->n; i++) {
            if (line == PLAN_VALUE && schedule_keeps(schedule, i, start)) {
                continue;
            }
            const interval_t interval = schedule_slots(schedule, line, i, start);
            const bool lives = interval.first <= interval.last;
            slots->of[line][i] = interval;
            plan->at[line][i] = PLAN_NOWHERE;
            plan->bytes[line][i] = lives ? (uint32_t)bytes_of(schedule, line, i) : 0;
        }
    }
}

static bool share_a_slot(interval_t a, interval_t b) {
    return a.first <= b.last && b.first <= a.last;
}

static bool overlaps(const place_t *buffer, uint32_t at, uint32_t bytes) {
    return at != PLAN_NOWHERE && buffer->at < at + bytes && at < buffer->at + buffer->bytes;
}

/* The end of a placed buffer that is in the way, 0 when none is. */
static uint32_t end_in_the_way(const graph_plan_t *plan, const schedule_t *schedule, const slots_table_t *slots,
                               const place_t *buffer) {
    const interval_t interval = slots->of[buffer->line][buffer->i];
    for (uint8_t line = 0; line < PLAN_LINES; line++) {
        for (uint8_t i = 0; i <= schedule->n; i++) {
            const uint32_t at = plan->at[line][i], bytes = plan->bytes[line][i];
            if (overlaps(buffer, at, bytes) && share_a_slot(interval, slots->of[line][i])) {
                return at + bytes;
            }
        }
    }
    return 0;
}

/* The largest that is not placed, the first of equals; without bytes when all are. */
static place_t next_to_place(const graph_plan_t *plan, const schedule_t *schedule) {
    place_t next = {.bytes = 0, .at = plan->always};
    for (uint8_t line = 0; line < PLAN_LINES; line++) {
        for (uint8_t i = 0; i <= schedule->n; i++) {
            if (plan->at[line][i] == PLAN_NOWHERE && plan->bytes[line][i] > next.bytes) {
                next.line = line;
                next.i = i;
                next.bytes = plan->bytes[line][i];
            }
        }
    }
    return next;
}

void place_start(graph_plan_t *plan, const schedule_t *schedule, start_t start, uint8_t *arena) {
    slots_table_t slots;
    uint32_t end = keep(plan, schedule, start, &slots, arena);
    note_others(plan, schedule, start, &slots);
    plan->size = end > plan->size ? end : plan->size;
    for (place_t next = next_to_place(plan, schedule); next.bytes > 0; next = next_to_place(plan, schedule)) {
        /* The lowest place that is free: whatever is in the way, nothing below its end is. */
        while ((end = end_in_the_way(plan, schedule, &slots, &next)) > 0) {
            next.at = end;
        }
        plan->at[next.line][next.i] = next.at;
        end = next.at + next.bytes;
        plan->size = end > plan->size ? end : plan->size;
    }
}
