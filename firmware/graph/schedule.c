#include "graph/schedule.h"

/* Slots, from the first to the last; nowhere: none. */
typedef struct {
    int16_t first, last;
} interval_t;

static const interval_t nowhere = {.first = INT16_MAX, .last = INT16_MIN};

/* A start, or the clean prefix before the first of them. */
typedef struct {
    uint8_t layer;
    bool prefix;
} start_t;

static bool is_value_read(const schedule_t *schedule, uint8_t value, uint8_t l) {
    return graph_reads(graph_layer(schedule->file, l), value);
}

/* The largest L of the layers that read a value; n, the loss, where none does. */
static uint8_t last_use(const schedule_t *schedule, uint8_t value) {
    for (uint8_t l = schedule->n; l > value; l--) {
        if (is_value_read(schedule, value, (uint8_t)(l - 1))) {
            return group_last(schedule->training, (uint8_t)(l - 1));
        }
    }
    return schedule->n;
}

static uint8_t first_start(const schedule_t *schedule) {
    uint8_t l = 0;
    while (!schedule->model_wise && !is_start(schedule->training, l)) { /* some layer is trained */
        l++;
    }
    return l;
}

void schedule_make(schedule_t *schedule, const graph_file_t *file, const graph_settings_t *settings, const graph_training_t *training) {
    *schedule = (schedule_t){
        .file = file, .training = training, .n = file->layers,
        .model_wise = settings->wise == WISE_MODEL,
        .consumes = graph_consumes(settings),
        .coordinates = settings->method == METHOD_DEEPZERO,
    };
    schedule->first = first_start(schedule);
    for (uint8_t value = 0; value <= schedule->n; value++) {
        schedule->last_use[value] = last_use(schedule, value);
    }
}

static interval_t slots(int32_t first, int32_t last) {
    return (interval_t){.first = (int16_t)first, .last = (int16_t)last};
}

static interval_t slots_of_value(const schedule_t *schedule, uint8_t value, start_t start) {
    const graph_training_t *training = schedule->training;
    const int32_t end = schedule->n + 1, use = schedule->last_use[value], maker = (int32_t)value - 1;
    const int32_t made = maker < 0 ? maker : group_first(training, (uint8_t)maker);
    if (start.prefix) {
        return made < start.layer ? slots(made, use < start.layer ? use : start.layer) : nowhere;
    }
    if (maker < start.layer) {
        return use >= start.layer ? slots(start.layer, end) : nowhere;
    }
    const bool gate = !schedule->model_wise && maker == start.layer && in_set(training->nodes, start.layer);
    return slots(made, gate ? end : use);
}

/* Where its layer is run. */
static interval_t slots_of_run(const schedule_t *schedule, uint8_t l, start_t start) {
    const bool runs = start.prefix ? l < start.layer : l >= start.layer;
    return runs ? slots(group_first(schedule->training, l), group_last(schedule->training, l)) : nowhere;
}

static interval_t slots_at(const schedule_t *schedule, uint8_t line, uint8_t i, start_t start) {
    const int32_t end = schedule->n + 1;
    const bool here = !start.prefix && i == start.layer;
    switch (line) {
    case PLAN_VALUE: return slots_of_value(schedule, i, start);
    case PLAN_FOLDED:
    case PLAN_SCRATCH:
    case PLAN_RING: return slots_of_run(schedule, i, start);
    case PLAN_COORDINATES: {
        const uint8_t first = group_first(schedule->training, i);
        return !start.prefix && first == start.layer ? slots(first, end) : nowhere;
    }
    default: break;
    }
    if (schedule->model_wise) {
        return slots(i, i);
    }
    return here ? slots(line == PLAN_NODE ? i : end, end) : nowhere;
}

static bool share_a_slot(interval_t a, interval_t b) {
    return a.first <= b.last && b.first <= a.last;
}

bool schedule_conflict(const schedule_t *schedule, uint8_t line, uint8_t i, uint8_t other_line, uint8_t other_i) {
    if (schedule->first > 0) {
        const start_t prefix = {.layer = schedule->first, .prefix = true};
        if (share_a_slot(slots_at(schedule, line, i, prefix), slots_at(schedule, other_line, other_i, prefix))) {
            return true;
        }
    }
    for (uint8_t l = schedule->first; l < schedule->n; l++) {
        const start_t start = {.layer = l};
        const bool starts = schedule->model_wise ? l == 0 : is_start(schedule->training, l);
        if (starts && share_a_slot(slots_at(schedule, line, i, start), slots_at(schedule, other_line, other_i, start))) {
            return true;
        }
    }
    return false;
}
