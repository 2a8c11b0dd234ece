#include "graph/schedule.h"

static const interval_t nothing = {.first = 0, .last = -1};

/* The largest L of the layers that read a value; n, the loss, where none does. */
static uint8_t last_use(const planned_t *planned, uint8_t value) {
    const uint8_t n = planned->file->layers;
    for (uint8_t l = n; l > value; l--) {
        if (graph_reads(graph_layer(planned->file, (uint8_t)(l - 1)), value)) {
            return group_last(planned->training, (uint8_t)(l - 1));
        }
    }
    return n;
}

schedule_t schedule_of(const planned_t *planned) {
    schedule_t schedule = {
        .file = planned->file, .training = planned->training, .n = planned->file->layers,
        .model_wise = planned->settings->wise == WISE_MODEL,
        .consumes = graph_consumes(planned->settings),
        .coordinates = planned->settings->method == METHOD_DEEPZERO,
    };
    for (uint8_t value = 0; value <= schedule.n; value++) {
        schedule.last_use[value] = last_use(planned, value);
    }
    return schedule;
}

uint8_t schedule_start(const schedule_t *schedule, uint8_t l) {
    if (schedule->model_wise) {
        return l == 0 ? 0 : schedule->n;
    }
    while (l < schedule->n && !is_start(schedule->training, l)) {
        l++;
    }
    return l;
}

static bool is_prefix(const schedule_t *schedule, start_t start) {
    return start.to < schedule->n;
}

static interval_t slots(uint32_t first, uint32_t last) {
    return (interval_t){.first = (int8_t)first, .last = (int8_t)last};
}

static uint8_t last_slot_of_value(const schedule_t *schedule, uint8_t value, start_t start) {
    const uint8_t use = schedule->last_use[value];
    return is_prefix(schedule, start) && use > start.to ? start.to : use;
}

bool schedule_keeps(const schedule_t *schedule, uint8_t value, start_t start) {
    const bool made_before = value == 0 ? schedule->consumes : value - 1 < start.from && !is_joined_behind(schedule->training, (uint8_t)(value - 1));
    return made_before && schedule->last_use[value] >= start.from;
}

interval_t schedule_kept_slots(const schedule_t *schedule, uint8_t value, start_t start) {
    const uint8_t end = (uint8_t)(schedule->n + 1);
    return (interval_t){.first = -1, .last = (int8_t)(is_prefix(schedule, start) ? last_slot_of_value(schedule, value, start) : end)};
}

static interval_t slots_of_value(const schedule_t *schedule, uint8_t value, start_t start) {
    const graph_training_t *training = schedule->training;
    const uint8_t maker = (uint8_t)(value - 1);
    if (value == 0 || maker < start.from || maker >= start.to || is_joined_behind(training, maker)) {
        return nothing;
    }
    const bool gate = !is_prefix(schedule, start) && !schedule->model_wise && maker == start.from && in_set(training->nodes, maker);
    return slots(group_first(training, maker), gate ? schedule->n + 1u : last_slot_of_value(schedule, value, start));
}

/* Of a trained layer: from its own slots, model-wise, or from the queries' or the update's, layer-wise. */
static interval_t slots_of_trained(const schedule_t *schedule, uint8_t line, uint8_t l, start_t start) {
    const uint8_t end = (uint8_t)(schedule->n + 1), first = group_first(schedule->training, l);
    if (schedule->model_wise) {
        return slots(l, l);
    }
    if (is_prefix(schedule, start) || first != start.from) {
        return nothing;
    }
    return slots(line == PLAN_SUMS ? end : first, end);
}

interval_t schedule_slots(const schedule_t *schedule, uint8_t line, uint8_t i, start_t start) {
    if (line == PLAN_VALUE) {
        return slots_of_value(schedule, i, start);
    }
    if (i >= schedule->n || !graph_has_weights(graph_layer(schedule->file, i))) {
        return nothing;
    }
    const graph_training_t *training = schedule->training;
    const bool runs = i >= start.from && i < start.to;
    const bool wanted = line == PLAN_COORDINATES ? schedule->coordinates && in_set(training->layers, i) : in_set(training->nodes, i);
    if (line == PLAN_WORK) {
        return runs ? slots(group_first(training, i), group_last(training, i)) : nothing;
    }
    return wanted ? slots_of_trained(schedule, line, i, start) : nothing;
}
