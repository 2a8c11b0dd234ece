#include "graph/plan.h"

#include <stddef.h>

#include "graph/placement.h"
#include "kernels/zeroth_order_gradient.h"

enum { LABEL_BYTES = sizeof(uint16_t), LONGEST_CHAIN = 3 };

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

static void put_kept(graph_plan_t *plan, const planned_t *planned, uint64_t *end) {
    const graph_training_t *training = planned->training;
    if (planned->in_ram) {
        (void)put_behind(end, planned->file->size);
    }
    for (uint8_t l = 0; l < planned->file->layers; l++) {
        const graph_layer_t *layer = graph_layer(planned->file, l);
        const bool copied = !planned->in_ram && in_set(training->layers, l);
        plan->theta[l] = plan->beta[l] = PLAN_NOWHERE;
        if (copied && training->weights) {
            plan->theta[l] = put_behind(end, (graph_weight_count(layer) + 3ull) / 4 * 4 + 4ull * graph_channels(layer));
        }
        if (copied && training->biases) {
            plan->beta[l] = put_behind(end, 4ull * graph_channels(layer));
        }
    }
    plan->kept = (uint32_t)*end;
}

/* Four bytes for everything that is trained, layer by layer, where they are wanted. */
static void put_coordinates(const planned_t *planned, bool wanted, uint32_t *places, uint64_t *end) {
    const graph_training_t *training = planned->training;
    for (uint8_t l = 0; l < planned->file->layers; l++) {
        const graph_layer_t *layer = graph_layer(planned->file, l);
        const uint64_t elements = (uint64_t)trained_weights(training, layer) + trained_biases(training, layer);
        places[l] = wanted && in_set(training->layers, l) ? put_behind(end, 4 * elements) : PLAN_NOWHERE;
    }
}

static void put_always(graph_plan_t *plan, const planned_t *planned, uint64_t *end) {
    const graph_settings_t *settings = planned->settings;
    const uint32_t sets = (settings->flags & FLAG_FUSED) != 0 ? LONGEST_CHAIN : 1;
    plan->labels = put_behind(end, (uint64_t)settings->slots * LABEL_BYTES);
    plan->queries = plan->samples = PLAN_NOWHERE;
    if (settings->method == METHOD_POOR_MANS) {
        plan->queries = put_behind(end, settings->queries * sets * sizeof(query_t));
    }
    if (!graph_consumes(settings)) {
        plan->samples = put_behind(end, settings->slots * graph_elements(planned->file, 0));
    }
    put_coordinates(planned, settings->batch > 1, plan->grad, end);
    put_coordinates(planned, graph_has_velocities(settings), plan->velocity, end);
    plan->always = (uint32_t)*end;
}

/* Nothing is placed but value 0, where it is consumed: at the end of what always lives. */
static void forget_places(graph_plan_t *plan, const planned_t *planned) {
    for (uint8_t line = 0; line < PLAN_LINES; line++) {
        for (uint8_t i = 0; i < PLAN_PLACES; i++) {
            plan->at[line][i] = PLAN_NOWHERE;
        }
    }
    if (graph_consumes(planned->settings)) {
        plan->samples = plan->at[PLAN_VALUE][0] = plan->always;
    }
}

void graph_plan_begin(graph_plan_t *plan, const planned_t *planned) {
    const schedule_t schedule = schedule_of(planned);
    plan->first = schedule_start(&schedule, 0);
    const start_t start = {.from = 0, .to = plan->first > 0 ? plan->first : schedule.n};
    forget_places(plan, planned);
    place_start(plan, &schedule, start, NULL);
}

void graph_plan_start(graph_plan_t *plan, const planned_t *planned, uint8_t from, uint8_t *arena) {
    const schedule_t schedule = schedule_of(planned);
    place_start(plan, &schedule, (start_t){.from = from, .to = schedule.n}, arena);
}

uint32_t graph_plan(graph_plan_t *plan, const planned_t *planned) {
    const schedule_t schedule = schedule_of(planned);
    uint64_t end = 0;
    put_kept(plan, planned, &end);
    put_always(plan, planned, &end);
    plan->size = UINT32_MAX;
    if (is_too_large(end + sum_of_sizes(&schedule))) {
        return plan->size;
    }
    plan->size = plan->always;
    graph_plan_begin(plan, planned);
    for (uint8_t l = schedule_start(&schedule, 0); l < schedule.n;
         l = schedule_start(&schedule, (uint8_t)(group_last(planned->training, l) + 1))) {
        graph_plan_start(plan, planned, l, NULL);
    }
    graph_plan_begin(plan, planned);
    return plan->size;
}
