#include "methods/tflite8_methods.h"

#include "formats/tflite8_sizes.h"
#include "kernels/gradients.h"

enum { LONGEST_CHAIN = 3 }; /* layers, each with its queries */

/* What the buffers of a start depend on. Slots are those of the page, each plus 1: the slot before the first layer is
   -1 there. */
typedef struct {
    placing_t *placing;
    const graph_file_t *file;
    const training_t *training;
    uint8_t n;
    start_t start;
    bool layer_wise; /* else there is one start */
    bool back;       /* errors go back */
} demand_t;

static demand_t demand_of(placing_t *placing, const model_t *model, start_t start) {
    const tflite8_settings_t *settings = tflite8_settings(model);
    const bool back = tflite8_goes_back(settings);
    return (demand_t){.placing = placing,
                      .file = &model->file,
                      .training = &model->training,
                      .n = model->file.layers,
                      .start = start,
                      .layer_wise = settings->wise == WISE_LAYER && !back,
                      .back = back};
}

static bool is_prefix(const demand_t *demand) {
    return demand->start.to < demand->n;
}

static void add(const demand_t *demand, enum plan_line line, uint8_t i, uint64_t bytes, uint32_t first, uint32_t last) {
    plan_add(demand->placing, plan_place(line, i), bytes, (uint8_t)(first + 1), (uint8_t)(last + 1));
}

/* c(v): the largest L of the layers that read a value; n, the loss, where none does. */
static uint8_t last_use(const demand_t *demand, uint8_t value) {
    const uint8_t l = graph_last_reader(demand->file, value);
    return l < demand->n ? group_last(demand->training, l) : l;
}

/* Whether the backward pass of a layer needs the value that the layer reads. */
static bool looks_back(const demand_t *demand, uint8_t l) {
    const training_t *training = demand->training;
    const graph_layer_t *layer = graph_layer(demand->file, l);
    const bool spreads = layer->op == OP_MAX_POOL && has_error(training, layer->reads[0]);
    return in_set(training->reached, l) && (spreads || (training->weights && in_set(training->layers, l)));
}

/* The last slot of the backward pass that needs a value, for the gate of its maker or for a reader; 0: none does. */
static uint32_t last_look_back(const demand_t *demand, uint8_t value) {
    const uint8_t maker = (uint8_t)(value - 1);
    if (value > 0 && in_set(demand->training->reached, maker) && !graph_is_pool(graph_layer(demand->file, maker))) {
        return slot_back(demand->file, maker);
    }
    for (uint8_t l = value; l < demand->n; l++) {
        if (graph_reads(graph_layer(demand->file, l), value) && looks_back(demand, l)) {
            return slot_back(demand->file, l);
        }
    }
    return 0;
}

static uint32_t last_slot_of_value(const demand_t *demand, uint8_t value) {
    const uint8_t use = last_use(demand, value);
    const uint32_t back = demand->back ? last_look_back(demand, value) : 0;
    if (back > 0) {
        return back;
    }
    return is_prefix(demand) && use > demand->start.to ? demand->start.to : use;
}

/* Values that were made before the start and are read after it. */
static void keep_values(const demand_t *demand) {
    const uint8_t from = demand->start.from;
    for (uint8_t value = demand->training->consumed ? 0 : 1; value <= from; value++) {
        const bool whole = value == 0 || !is_joined_behind(demand->training, (uint8_t)(value - 1));
        if (whole && last_use(demand, value) >= from) {
            const bool to_last_use = is_prefix(demand) || demand->back;
            const uint32_t last = to_last_use ? last_slot_of_value(demand, value) : demand->n + 1u;
            plan_keep(demand->placing, plan_place(PLAN_VALUE, value), graph_elements(demand->file, value), 0,
                      (uint8_t)(last + 1));
        }
    }
}

static void add_values(const demand_t *demand) {
    const training_t *training = demand->training;
    for (uint8_t maker = demand->start.from; maker < demand->start.to; maker++) {
        const uint8_t value = (uint8_t)(maker + 1);
        const bool gate =
            !is_prefix(demand) && demand->layer_wise && maker == demand->start.from && in_set(training->nodes, maker);
        if (!is_joined_behind(training, maker)) {
            add(demand, PLAN_VALUE, value, graph_elements(demand->file, value), group_first(training, maker),
                gate ? demand->n + 1u : last_slot_of_value(demand, value));
        }
    }
}

static void add_work(const demand_t *demand) {
    const training_t *training = demand->training;
    for (uint8_t l = demand->start.from; l < demand->start.to; l++) {
        const graph_layer_t *layer = graph_layer(demand->file, l);
        const bool has_ring = in_set(training->joined, l) && layer->op == OP_DEPTHWISE;
        const chained_t chained = {.has_ring = has_ring, .has_row = has_ring && is_joined_behind(training, l)};
        if (graph_has_weights(layer)) {
            add(demand, PLAN_WORK, l, work_layout(layer, chained).end, group_first(training, l),
                group_last(training, l));
        }
    }
}

void tflite8_demand_passes(placing_t *placing, const model_t *model, start_t start) {
    const demand_t demand = demand_of(placing, model, start);
    keep_values(&demand);
    add_values(&demand);
    add_work(&demand);
}

/* Whether a trained layer learns at this start. */
static bool learns_here(const demand_t *demand, uint8_t l) {
    return !demand->layer_wise || (!is_prefix(demand) && group_first(demand->training, l) == demand->start.from);
}

/* Of the trained layers of a set: from their own slots, model-wise, or layer-wise from the start of their queries, or
   `at_end`, to the update. */
static void add_trained(const demand_t *demand, enum plan_line line, uint64_t set, bool at_end,
                        uint64_t (*bytes)(const training_t *training, const graph_layer_t *layer)) {
    for (uint8_t l = 0; l < demand->n; l++) {
        const uint8_t end = (uint8_t)(demand->n + 1), first = at_end ? end : demand->start.from;
        if (in_set(set, l) && learns_here(demand, l)) {
            add(demand, line, l, bytes(demand->training, graph_layer(demand->file, l)), demand->layer_wise ? first : l,
                demand->layer_wise ? end : l);
        }
    }
}

static uint64_t node_bytes(const training_t *training, const graph_layer_t *layer) {
    (void)training;
    return graph_outputs(layer);
}

static uint64_t sums_bytes(const training_t *training, const graph_layer_t *layer) {
    return sums_layout(layer, training->weights).end;
}

static uint64_t coordinate_bytes(const training_t *training, const graph_layer_t *layer) {
    return sizeof(int32_t) * (uint64_t)trained_count(training, layer);
}

void tflite8_demand_nodes(placing_t *placing, const model_t *model, start_t start) {
    const demand_t demand = demand_of(placing, model, start);
    add_trained(&demand, TFLITE8_NODE, model->training.nodes, false, node_bytes);
    add_trained(&demand, PLAN_SUMS, model->training.nodes, true, sums_bytes);
}

void tflite8_demand_coordinates(placing_t *placing, const model_t *model, start_t start) {
    const demand_t demand = demand_of(placing, model, start);
    add_trained(&demand, TFLITE8_COORDINATES, model->training.layers, false, coordinate_bytes);
}

/* The error of a value: from the first reader that gives it one, or the loss, to its maker. */
static void add_errors(const demand_t *demand) {
    for (uint8_t maker = 0; maker < demand->n; maker++) {
        const uint8_t value = (uint8_t)(maker + 1);
        if (in_set(demand->training->reached, maker)) {
            const uint8_t reader = last_reached_reader(demand->file, demand->training, value);
            add(demand, PLAN_ERROR, value, graph_elements(demand->file, value), slot_back(demand->file, reader),
                slot_back(demand->file, maker));
        }
    }
}

/* Layers that compute the error of their input in a buffer of their own: those with weights, and a pool or a mean whose
   input has an error of another layer already. */
static void add_back(const demand_t *demand) {
    const training_t *training = demand->training;
    for (uint8_t l = 0; l < demand->n; l++) {
        const graph_layer_t *layer = graph_layer(demand->file, l);
        const uint8_t value = layer->reads[0];
        if (!in_set(training->reached, l) || !has_error(training, value)) {
            continue;
        }
        const uint64_t inputs = graph_elements(demand->file, value);
        const bool spreads = graph_is_pool(layer) || layer->op == OP_MEAN;
        const bool later = spreads && last_reached_reader(demand->file, training, value) != l;
        if (graph_has_weights(layer) || later) {
            add(demand, PLAN_BACK, l, graph_has_weights(layer) ? back_layout(layer, inputs).end : inputs,
                slot_back(demand->file, l), slot_back(demand->file, l));
        }
    }
}

void tflite8_demand_backward(placing_t *placing, const model_t *model) {
    const demand_t demand = demand_of(placing, model, (start_t){.from = 0, .to = model->file.layers});
    const training_t *training = &model->training;
    for (uint8_t l = 0; l < demand.n; l++) {
        if (in_set(training->layers & training->reached, l)) {
            add(&demand, PLAN_SUMS, l, sums_bytes(training, graph_layer(&model->file, l)), slot_back(&model->file, l),
                slot_back(&model->file, l));
        }
    }
    add_errors(&demand);
    add_back(&demand);
}

/* Four bytes for everything that is trained, layer by layer. */
static void stand_coordinates(plan_t *plan, const model_t *model, enum plan_line line) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (in_set(model->training.layers, l)) {
            plan_stand(plan, plan_place(line, l), coordinate_bytes(&model->training, graph_layer(&model->file, l)));
        }
    }
}

void tflite8_stand_samples(plan_t *plan, const model_t *model) {
    const tflite8_settings_t *settings = tflite8_settings(model);
    const uint32_t sets = settings->fused ? LONGEST_CHAIN : 1;
    plan_stand(plan, PLAN_LABELS, sizeof(uint16_t) * (uint64_t)settings->slots);
    if (settings->method == METHOD_POOR_MANS) {
        plan_stand(plan, TFLITE8_QUERIES, settings->queries * sets * sizeof(query_t));
    }
    if (!model->training.consumed) {
        plan_stand(plan, PLAN_SAMPLES, settings->slots * graph_elements(&model->file, 0));
    }
}

void tflite8_stand(plan_t *plan, const model_t *model) {
    const tflite8_settings_t *settings = tflite8_settings(model);
    tflite8_stand_samples(plan, model);
    if (settings->batch > 1) {
        stand_coordinates(plan, model, PLAN_GRADIENT);
    }
    if (tflite8_has_velocities(settings)) {
        stand_coordinates(plan, model, TFLITE8_VELOCITY);
    }
}
