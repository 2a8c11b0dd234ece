/* The buffers of ElasticZO-INT8, and when they are in use: docs/memory.md. With n layers, slot 2n - l is the backward
   pass of layer l. */
#include <stddef.h>

#include "engine/format.h"
#include "methods/elasticzo_int8.h"

typedef struct {
    placing_t *placing;
    const graph_file_t *file;
    const chain_training_t *chain;
    uint8_t n, first_bp;
    uint16_t group; /* samples whose activations are kept at the same time */
} demand_t;

static uint8_t backward_slot(const demand_t *demand, uint8_t l) {
    return (uint8_t)(2 * demand->n - l);
}

static bool is_relu(const demand_t *demand, uint8_t l) {
    return l < demand->n && graph_layer(demand->file, l)->op == OP_RELU;
}

static bool is_trained(const demand_t *demand, uint8_t l) {
    return graph_has_weights(graph_layer(demand->file, l));
}

static bool is_conv2d(const demand_t *demand, uint8_t l) {
    return graph_layer(demand->file, l)->op == OP_CONV2D;
}

/* Perturbation and update, between the passes. */
static uint8_t last_slot(const demand_t *demand) {
    return (uint8_t)(2 * demand->n + 1);
}

/* The layer that reads the output of layer l, after a relu in place; n is the loss. */
static uint8_t consumer(const demand_t *demand, uint8_t l) {
    return (uint8_t)(is_relu(demand, (uint8_t)(l + 1)) ? l + 2 : l + 1);
}

static uint8_t last_use(const demand_t *demand, uint8_t l) {
    const uint8_t j = consumer(demand, l);
    if (is_relu(demand, (uint8_t)(l + 1)) && l + 1 >= demand->first_bp) {
        return backward_slot(demand, (uint8_t)(l + 1)); /* later than any use by j */
    }
    return j < demand->n && j >= demand->first_bp ? backward_slot(demand, j) : j;
}

/* Elements of the value that layer l reads, for the whole group; and their bytes. */
static uint64_t elements(const demand_t *demand, uint8_t l) {
    return demand->group * graph_elements(demand->file, l);
}

static uint64_t value_bytes(const demand_t *demand, uint8_t l) {
    return graph_value_bytes(demand->file, l) * elements(demand, l);
}

static void add(const demand_t *demand, enum plan_line line, uint8_t i, uint64_t bytes, uint8_t first, uint8_t last) {
    if (bytes > 0) {
        plan_add(demand->placing, plan_place(line, i), bytes, first, last);
    }
}

static void always(const demand_t *demand, uint16_t place, uint64_t bytes) {
    plan_add(demand->placing, place, bytes, 0, last_slot(demand));
}

/* relu works in place: its output and its error share the buffers of the layer before. */
static void add_forward(const demand_t *demand) {
    for (uint8_t l = 0; l < demand->n; l++) {
        const uint8_t value = (uint8_t)(l + 1);
        if (is_relu(demand, l)) {
            plan_share(demand->placing, plan_place(PLAN_VALUE, value));
        } else {
            add(demand, PLAN_VALUE, value, value_bytes(demand, value), l, last_use(demand, l));
        }
    }
    for (uint8_t l = 0; l < demand->n; l++) {
        if (is_trained(demand, l)) {
            add(demand, PLAN_WORK, l, demand->chain->sum_bytes * elements(demand, (uint8_t)(l + 1)), l, l);
        }
    }
    for (uint8_t l = 0; l < demand->n; l++) {
        if (is_conv2d(demand, l) && demand->chain->scratch != NULL) {
            const layer_shape_t shape = graph_shape(graph_layer(demand->file, l));
            add(demand, CHAIN_SCRATCH, l, demand->chain->scratch(&shape), l, l);
        }
    }
}

static void add_backward(const demand_t *demand) {
    for (uint8_t l = demand->n; l-- > demand->first_bp;) {
        const uint8_t value = (uint8_t)(l + 1);
        if (is_relu(demand, l)) {
            plan_share(demand->placing, plan_place(PLAN_ERROR, value));
        } else {
            add(demand, PLAN_ERROR, value, value_bytes(demand, value), backward_slot(demand, consumer(demand, l)),
                backward_slot(demand, l));
        }
    }
    for (uint8_t l = demand->n; l-- > demand->first_bp + 1;) {
        const uint8_t slot = backward_slot(demand, l);
        if (is_trained(demand, l)) {
            add(demand, PLAN_BACK, l, demand->chain->sum_bytes * elements(demand, l), slot, slot);
        }
    }
    for (uint8_t l = demand->n; l-- > demand->first_bp;) {
        const uint8_t slot = backward_slot(demand, l);
        if (is_conv2d(demand, l) && demand->chain->gradient_scratch != NULL) {
            const layer_shape_t shape = graph_shape(graph_layer(demand->file, l));
            add(demand, PLAN_SUMS, l, demand->chain->gradient_scratch(&shape), slot, slot);
        }
    }
    for (uint8_t l = demand->n; l-- > demand->first_bp;) {
        if (is_trained(demand, l)) {
            const uint64_t weights = graph_weight_count(graph_layer(demand->file, l));
            always(demand, plan_place(PLAN_GRADIENT, l), sizeof(int32_t) * weights);
        }
    }
}

void elasticzo_demand(placing_t *placing, const model_t *model, start_t start) {
    const elasticzo_settings_t *settings = elasticzo_settings(model);
    const demand_t demand = {.placing = placing,
                             .file = &model->file,
                             .chain = model_format(model, 0)->chain,
                             .n = start.to,
                             .first_bp = model->training.first_backward,
                             .group = model->training.grouped ? settings->batch : 1};
    always(&demand, PLAN_LABELS, settings->slots);
    always(&demand, PLAN_SAMPLES, settings->slots * graph_size(&model->file, 0));
    if (elasticzo_keeps_logits(settings)) {
        always(&demand, ELASTICZO_LOGITS, (uint64_t)settings->batch * model_classes(model));
        always(&demand, ELASTICZO_EXPONENTS, sizeof(int16_t) * (uint64_t)settings->batch);
    }
    if (settings->partition > 0) {
        plan_add(placing, ELASTICZO_NOISE, MOVES_WORDS * sizeof(uint32_t), last_slot(&demand), last_slot(&demand));
    }
    add_forward(&demand);
    add_backward(&demand);
}
