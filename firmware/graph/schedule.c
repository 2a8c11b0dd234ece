#include "graph/schedule.h"

#include "graph/reach.h"

static const interval_t nothing = {.first = 1, .last = 0};

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
        .file = planned->file,
        .training = planned->training,
        .n = planned->file->layers,
        .model_wise = planned->settings->wise == WISE_MODEL || planned->settings->method == METHOD_BP,
        .consumes = graph_consumes(planned->settings),
        .coordinates = planned->settings->method == METHOD_DEEPZERO,
        .back = planned->settings->method == METHOD_BP,
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
    return (interval_t){.first = (uint8_t)(first + 1), .last = (uint8_t)(last + 1)};
}

/* B(l), in which a layer is passed on the way back. */
static uint32_t slot_back(const schedule_t *schedule, uint8_t l) {
    return 2u * schedule->n - l;
}

/* Whether a layer looks at the value that it reads on the way back. */
static bool looks_back(const schedule_t *schedule, uint8_t l) {
    const graph_training_t *training = schedule->training;
    const graph_layer_t *layer = graph_layer(schedule->file, l);
    const bool spreads = layer->op == OP_MAX_POOL && graph_has_error(training, layer->reads[0]);
    return in_set(training->reached, l) && (spreads || (training->weights && in_set(training->layers, l)));
}

/* The last slot in which a value is wanted on the way back, by the gate of its maker or by a reader; 0: in none. */
static uint32_t last_look_back(const schedule_t *schedule, uint8_t value) {
    const graph_training_t *training = schedule->training;
    const uint8_t maker = (uint8_t)(value - 1);
    if (value > 0 && in_set(training->reached, maker) && !graph_is_pool(graph_layer(schedule->file, maker))) {
        return slot_back(schedule, maker);
    }
    for (uint8_t l = value; l < schedule->n; l++) {
        if (graph_reads(graph_layer(schedule->file, l), value) && looks_back(schedule, l)) {
            return slot_back(schedule, l);
        }
    }
    return 0;
}

static uint32_t last_slot_of_value(const schedule_t *schedule, uint8_t value, start_t start) {
    const uint8_t use = schedule->last_use[value];
    const uint32_t back = schedule->back ? last_look_back(schedule, value) : 0;
    if (back > 0) {
        return back;
    }
    return is_prefix(schedule, start) && use > start.to ? start.to : use;
}

bool schedule_keeps(const schedule_t *schedule, uint8_t value, start_t start) {
    const bool made_before =
        value == 0 ? schedule->consumes
                   : value - 1 < start.from && !is_joined_behind(schedule->training, (uint8_t)(value - 1));
    return made_before && schedule->last_use[value] >= start.from;
}

interval_t schedule_kept_slots(const schedule_t *schedule, uint8_t value, start_t start) {
    const bool to_last_use = is_prefix(schedule, start) || schedule->back;
    const uint32_t last = to_last_use ? last_slot_of_value(schedule, value, start) : schedule->n + 1u;
    return (interval_t){.first = 0, .last = slots(0, last).last};
}

static interval_t slots_of_value(const schedule_t *schedule, uint8_t value, start_t start) {
    const graph_training_t *training = schedule->training;
    const uint8_t maker = (uint8_t)(value - 1);
    if (value == 0 || maker < start.from || maker >= start.to || is_joined_behind(training, maker)) {
        return nothing;
    }
    const bool gate =
        !is_prefix(schedule, start) && !schedule->model_wise && maker == start.from && in_set(training->nodes, maker);
    return slots(group_first(training, maker), gate ? schedule->n + 1u : last_slot_of_value(schedule, value, start));
}

/* The error of a value: from the first reader that hands one on, or the loss, to its maker. */
static interval_t slots_of_error(const schedule_t *schedule, uint8_t value) {
    const graph_training_t *training = schedule->training;
    if (value == 0 || !in_set(training->reached, (uint8_t)(value - 1))) {
        return nothing;
    }
    const uint8_t reader = graph_last_reached_reader(schedule->file, training, value);
    return slots(slot_back(schedule, reader), slot_back(schedule, (uint8_t)(value - 1)));
}

/* Whether a layer works on the error of what it reads in memory of its own: one with weights; a pool, where another layer has handed an
   error on before. */
static bool has_back(const schedule_t *schedule, uint8_t l) {
    const graph_training_t *training = schedule->training;
    const graph_layer_t *layer = graph_layer(schedule->file, l);
    if (!in_set(training->reached, l) || !graph_has_error(training, layer->reads[0])) {
        return false;
    }
    const bool later =
        graph_is_pool(layer) && graph_last_reached_reader(schedule->file, training, layer->reads[0]) != l;
    return graph_has_weights(layer) || later;
}

/* Of the lines that only bp has; and `sums`. */
static interval_t slots_on_the_way_back(const schedule_t *schedule, uint8_t line, uint8_t i) {
    if (line == PLAN_ERROR) {
        return slots_of_error(schedule, i);
    }
    if (i >= schedule->n) {
        return nothing;
    }
    const graph_training_t *training = schedule->training;
    const bool wanted = line == PLAN_BACK ? has_back(schedule, i) : in_set(training->layers & training->reached, i);
    return wanted ? slots(slot_back(schedule, i), slot_back(schedule, i)) : nothing;
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
    if (line == PLAN_ERROR || line == PLAN_BACK || (schedule->back && line == PLAN_SUMS)) {
        return schedule->back ? slots_on_the_way_back(schedule, line, i) : nothing;
    }
    if (i >= schedule->n || !graph_has_weights(graph_layer(schedule->file, i))) {
        return nothing;
    }
    const graph_training_t *training = schedule->training;
    const bool runs = i >= start.from && i < start.to;
    const bool wanted =
        line == PLAN_COORDINATES ? schedule->coordinates && in_set(training->layers, i) : in_set(training->nodes, i);
    if (line == PLAN_WORK) {
        return runs ? slots(group_first(training, i), group_last(training, i)) : nothing;
    }
    return wanted ? slots_of_trained(schedule, line, i, start) : nothing;
}
