#include "graph/plan.h"

#include <stddef.h>

#include "graph/schedule.h"
#include "graph/sizes.h"
#include "kernels/query.h"

#define LABEL_BYTES sizeof(uint16_t)

static uint64_t up_8(uint64_t n) {
    return (n + 7) / 8 * 8;
}

/* Sizes beyond what an arena could have. */
static bool is_too_large(uint64_t bytes) {
    return bytes >= UINT32_MAX / 2;
}

/* A buffer that always lives: behind the one before it. */
static uint32_t put_behind(uint64_t *end, uint64_t bytes) {
    const uint64_t offset = *end;
    *end += up_8(bytes);
    return is_too_large(*end) ? PLAN_NOWHERE : (uint32_t)offset;
}

static void put_kept(graph_plan_t *plan, const schedule_t *schedule, bool in_ram, uint64_t *end) {
    const graph_training_t *training = schedule->training;
    if (in_ram) {
        (void)put_behind(end, schedule->file->size);
    }
    for (uint8_t l = 0; l < schedule->n; l++) {
        const graph_layer_t *layer = graph_layer(schedule->file, l);
        const bool copied = !in_ram && in_set(training->layers, l);
        plan->theta[l] = plan->beta[l] = PLAN_NOWHERE;
        if (copied && training->weights) {
            plan->theta[l] = put_behind(end, (layer->weights + 3ull) / 4 * 4 + 4ull * layer->channels);
        }
        if (copied && training->biases) {
            plan->beta[l] = put_behind(end, 4ull * layer->channels);
        }
    }
    plan->kept = (uint32_t)*end;
}

static void put_always(graph_plan_t *plan, const schedule_t *schedule, const graph_settings_t *settings, uint64_t *end) {
    const uint32_t pairs = (settings->flags & FLAG_FUSED) != 0 ? 2 : 1;
    plan->labels = put_behind(end, settings->slots * LABEL_BYTES);
    plan->queries = plan->samples = PLAN_NOWHERE;
    if (settings->method == METHOD_POOR_MANS) {
        plan->queries = put_behind(end, settings->queries * pairs * sizeof(query_t));
    }
    if (!schedule->consumes) {
        plan->samples = put_behind(end, settings->slots * graph_elements(schedule->file, 0));
    }
    for (uint8_t l = 0; l < schedule->n; l++) {
        const graph_layer_t *layer = graph_layer(schedule->file, l);
        const uint64_t elements = (uint64_t)trained_weights(schedule->training, layer) + trained_biases(schedule->training, layer);
        const bool summed = settings->batch > 1 && in_set(schedule->training->layers, l);
        plan->grad[l] = summed ? put_behind(end, 4 * elements) : PLAN_NOWHERE;
    }
    plan->always = (uint32_t)*end;
}

/* Bytes of a buffer of the second table, 0 where there is none. */
static uint64_t bytes_of(const schedule_t *schedule, enum plan_line line, uint8_t i) {
    const graph_training_t *training = schedule->training;
    if (line == PLAN_VALUE) {
        const bool within_pair = i > 0 && i < schedule->n && in_set(training->second, i);
        return within_pair || (i == 0 && !schedule->consumes) ? 0 : graph_elements(schedule->file, i);
    }
    if (i >= schedule->n || !graph_has_weights(graph_layer(schedule->file, i))) {
        return 0;
    }
    const graph_layer_t *layer = graph_layer(schedule->file, i);
    const bool by_nodes = in_set(training->nodes, i), second = in_set(training->second, i);
    switch (line) {
    case PLAN_FOLDED: return 4ull * layer->channels;
    case PLAN_SCRATCH: return scratch_bytes(layer, second);
    case PLAN_RING: return second ? ring_bytes(layer) : 0;
    case PLAN_NODE: return by_nodes ? graph_outputs(layer) : 0;
    case PLAN_SUMS: return by_nodes ? sums_layout(layer, training->weights).end : 0;
    default: break;
    }
    const bool raised = schedule->coordinates && in_set(training->layers, i);
    return raised ? 4 * ((uint64_t)trained_weights(training, layer) + trained_biases(training, layer)) : 0;
}

/* Note the sizes of what does not always live; false: one of them is too large. */
static bool note_sizes(graph_plan_t *plan, const schedule_t *schedule) {
    uint64_t sum = plan->always;
    for (uint8_t line = 0; line < PLAN_LINES; line++) {
        for (uint8_t i = 0; i < PLAN_PLACES; i++) {
            const uint64_t bytes = i <= schedule->n ? up_8(bytes_of(schedule, line, i)) : 0;
            sum += bytes;
            plan->at[line][i] = PLAN_NOWHERE;
            plan->bytes[line][i] = is_too_large(bytes) ? 0 : (uint32_t)bytes;
            if (is_too_large(bytes) || is_too_large(sum)) {
                return false;
            }
        }
    }
    return true;
}

/* A buffer of the second table, and where it is to be placed. */
typedef struct {
    uint8_t line, i;
    uint32_t bytes, at;
} place_t;

static bool overlaps(const place_t *buffer, uint32_t at, uint32_t bytes) {
    return at != PLAN_NOWHERE && buffer->at < at + bytes && at < buffer->at + buffer->bytes;
}

/* The end of a placed buffer that is in the way, 0 when none is. */
static uint32_t end_in_the_way(const graph_plan_t *plan, const schedule_t *schedule, const place_t *buffer) {
    for (uint8_t line = 0; line < PLAN_LINES; line++) {
        for (uint8_t i = 0; i <= schedule->n; i++) {
            const uint32_t at = plan->at[line][i], bytes = plan->bytes[line][i];
            if (overlaps(buffer, at, bytes) && schedule_conflict(schedule, buffer->line, buffer->i, line, i)) {
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

/* The lowest place without a conflict: whatever is in the way, nothing below its end is free. */
static void place_all(graph_plan_t *plan, const schedule_t *schedule) {
    plan->size = plan->always;
    for (place_t next = next_to_place(plan, schedule); next.bytes > 0; next = next_to_place(plan, schedule)) {
        for (uint32_t end = 1; end > 0;) {
            end = end_in_the_way(plan, schedule, &next);
            next.at = end > 0 ? end : next.at;
        }
        plan->at[next.line][next.i] = next.at;
        const uint32_t end = next.at + next.bytes;
        plan->size = end > plan->size ? end : plan->size;
    }
}

uint32_t graph_plan(graph_plan_t *plan, const graph_file_t *file, bool in_ram, const graph_settings_t *settings,
                    const graph_training_t *training) {
    schedule_t schedule;
    uint64_t end = 0;
    schedule_make(&schedule, file, settings, training);
    put_kept(plan, &schedule, in_ram, &end);
    put_always(plan, &schedule, settings, &end);
    plan->size = UINT32_MAX;
    if (!is_too_large(end) && note_sizes(plan, &schedule)) {
        place_all(plan, &schedule);
        if (schedule.consumes) {
            plan->samples = plan->at[PLAN_VALUE][0];
        }
    }
    return plan->size;
}
