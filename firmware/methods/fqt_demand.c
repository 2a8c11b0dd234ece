/* The buffers of FQT, and when they are in use: docs/arithmetic-fqt.md, section 10. With n layers, slot 2n - l is the
   backward pass of layer l. */
#include "formats/tflite8_sizes.h"
#include "methods/fqt.h"

enum { RANK_BYTES = 4 /* of a norm */, LIST_BYTES = 2 /* of an entry of the list */ };

static const graph_layer_t *layer_of(const model_t *model, uint8_t l) {
    return graph_layer(&model->file, l);
}

static uint64_t up_8(uint64_t n) {
    return (n + 7) / 8 * 8;
}

static bool is_reached(const model_t *model, uint8_t l) {
    return in_set(model->training.reached, l);
}

/* A line of buffers that stay: those of trained layers, a number of bytes by weight, and one by channel. */
static void stand_gradients(plan_t *plan, const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (fqt_is_trained(model, l)) {
            plan_stand(plan, plan_place(PLAN_GRADIENT, l),
                       sizeof(float) * (uint64_t)trained_count(&model->training, layer_of(model, l)));
        }
    }
}

static void stand_channels(plan_t *plan, const model_t *model, enum plan_line line, uint32_t bytes, uint32_t per) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (fqt_is_trained(model, l)) {
            plan_stand(plan, plan_place(line, l), bytes * ((layer_of(model, l)->out_c + (uint64_t)per - 1) / per));
        }
    }
}

static void stand_tables(plan_t *plan, const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (layer_of(model, l)->op == OP_HARD_SWISH && fqt_is_affine8(model, l)) {
            plan_stand(plan, plan_place(AFFINE8_TABLE, l),
                       is_reached(model, l) ? sizeof(affine8_table_t) : AFFINE8_OUTPUTS_BYTES);
        }
    }
}

void fqt_stand(plan_t *plan, const model_t *model) {
    const fqt_settings_t *settings = fqt_settings(model);
    const uint64_t slots = settings->slots;
    plan_stand(plan, PLAN_LABELS, sizeof(uint16_t) * slots);
    plan_stand(plan, PLAN_SAMPLES, slots * graph_elements(&model->file, 0) * model->file.sample_bytes);
    plan_stand(plan, FQT_OBSERVED, 2u * model->file.layers);
    if (settings->error_range == ERROR_RANGE_RUNNING) {
        plan_stand(plan, FQT_ERROR_RANGES, 2u * sizeof(affine8_running_t) * model->file.layers);
    }
    stand_tables(plan, model);
    stand_gradients(plan, model);
    stand_channels(plan, model, FQT_KEPT, 1, 8);
    if (fqt_has_statistics(settings)) {
        stand_channels(plan, model, FQT_STATISTICS, sizeof(fqt_statistics_t), 1);
    }
    const uint64_t bytes = fqt_optimizer_bytes(model, model->file.layers);
    if (bytes > 0) {
        plan_stand(plan, FQT_OPTIMIZER, bytes);
    }
}

/* The last slot in which a value is wanted: by the gate of its maker, by a reader on the way back, or forward. */
static uint8_t last_use(const model_t *model, uint8_t value) {
    const uint8_t maker = (uint8_t)(value - 1);
    if (value > 0 && is_reached(model, maker) && graph_has_limits(layer_of(model, maker))) {
        return slot_back(&model->file, maker);
    }
    for (uint8_t l = value; l < model->file.layers; l++) {
        const graph_layer_t *layer = layer_of(model, l);
        if (graph_reads(layer, value) && is_reached(model, l) && looks_at_values(&model->training, layer)) {
            return slot_back(&model->file, l);
        }
    }
    return graph_last_reader(&model->file, value);
}

static void add_values(placing_t *placing, const model_t *model) {
    const bool input = layer_of(model, 0)->format == FORMAT_FLOAT32;
    for (uint8_t value = input ? 0 : 1; value <= model->file.layers; value++) {
        plan_add(placing, plan_place(PLAN_VALUE, value), graph_size(&model->file, value),
                 value > 0 ? (uint8_t)(value - 1) : 0, last_use(model, value));
    }
}

static void add_work(placing_t *placing, const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const graph_layer_t *layer = layer_of(model, l);
        if (graph_has_weights(layer) && layer->format != FORMAT_FLOAT32) {
            const uint64_t bytes = layer->format == FORMAT_AFFINE8
                                       ? affine8_work(layer)
                                       : work_layout(layer, (chained_t){.has_ring = false}).end;
            plan_add(placing, plan_place(PLAN_WORK, l), bytes, l, l);
        }
    }
}

/* Of the backward pass of a layer that is reached; without bytes there is none. */
static void add_back(placing_t *placing, const model_t *model, enum plan_line line, uint8_t l, uint64_t bytes) {
    if (is_reached(model, l) && bytes > 0) {
        plan_add(placing, plan_place(line, l), bytes, slot_back(&model->file, l), slot_back(&model->file, l));
    }
}

/* Whether a layer gives an error to affine8 values. */
static bool hands_on_s8(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = layer_of(model, l);
    return (layer->format == FORMAT_AFFINE8 || layer->op == OP_CAST) && hands_on(&model->training, layer);
}

/* The errors that a layer computes apart, since their values have errors of other layers already. */
static uint64_t apart_bytes(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = layer_of(model, l);
    uint64_t bytes = layer->op == OP_MULTIPLY ? up_8(sizeof(int32_t) * (uint64_t)layer->out_c) : 0;
    for (uint8_t i = 0; i < graph_read_count(layer); i++) {
        const uint8_t value = layer->reads[i];
        const bool further =
            has_error(&model->training, value) && last_reached_reader(&model->file, &model->training, value) != l;
        bytes += further ? up_8(graph_elements(&model->file, value)) : 0;
    }
    return bytes;
}

void fqt_demand(placing_t *placing, const model_t *model, start_t start) {
    (void)start; /* there is one */
    add_values(placing, model);
    add_work(placing, model);
    demand_errors(placing, &model->file, &model->training);
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const uint64_t channels = graph_channels(layer_of(model, l));
        add_back(placing, model, FQT_RANK, l, up_8(RANK_BYTES * channels) + up_8(LIST_BYTES * channels));
    }
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const bool sums = fqt_is_trained(model, l) && fqt_is_affine8(model, l);
        add_back(placing, model, PLAN_SUMS, l, sums ? sums_layout(layer_of(model, l), true).end : 0);
    }
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const graph_layer_t *layer = layer_of(model, l);
        const bool back = graph_has_weights(layer) && hands_on_s8(model, l);
        add_back(placing, model, PLAN_BACK, l, back ? back_layout(layer, graph_inputs(layer)).end : 0);
    }
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const bool back = !graph_has_weights(layer_of(model, l)) && hands_on_s8(model, l);
        add_back(placing, model, PLAN_BACK, l, back ? apart_bytes(model, l) : 0);
    }
}
