#include "net/plan.h"

#include <stddef.h>

#include "kernels/conv2d_s8.h"
#include "kernels/move_s8.h"

/* The network with the time slots of its layers. */
typedef struct {
    const graph_file_t *file;
    uint8_t n, first_bp;
    uint16_t group; /* samples whose activations live together */
} schedule_t;

static uint8_t backward_slot(const schedule_t *schedule, uint8_t layer) {
    return (uint8_t)(2 * schedule->n - layer);
}

static bool is_relu(const schedule_t *schedule, uint8_t layer) {
    return layer < schedule->n && graph_layer(schedule->file, layer)->op == OP_RELU;
}

static bool is_trained(const schedule_t *schedule, uint8_t layer) {
    return graph_has_weights(graph_layer(schedule->file, layer));
}

static bool is_conv2d(const schedule_t *schedule, uint8_t layer) {
    return graph_layer(schedule->file, layer)->op == OP_CONV2D;
}

/* Perturbation and update, between the passes. */
static uint8_t last_slot(const schedule_t *schedule) {
    return (uint8_t)(2 * schedule->n + 1);
}

/* The layer that takes the output of `layer`, behind a relu in place; n is the loss. */
static uint8_t consumer(const schedule_t *schedule, uint8_t layer) {
    return (uint8_t)(is_relu(schedule, (uint8_t)(layer + 1)) ? layer + 2 : layer + 1);
}

static uint8_t last_use_of_act(const schedule_t *schedule, uint8_t layer) {
    const uint8_t j = consumer(schedule, layer);
    if (is_relu(schedule, (uint8_t)(layer + 1)) && layer + 1 >= schedule->first_bp) {
        return backward_slot(schedule, (uint8_t)(layer + 1)); /* later than anything that j does */
    }
    if (j < schedule->n && j >= schedule->first_bp) {
        return backward_slot(schedule, j);
    }
    return j;
}

static uint8_t slot_that_makes_err(const schedule_t *schedule, uint8_t layer) {
    return backward_slot(schedule, consumer(schedule, layer)); /* n for the loss */
}

static uint64_t inputs(const schedule_t *schedule, uint8_t layer) {
    return graph_elements(schedule->file, layer);
}

static uint64_t outputs(const schedule_t *schedule, uint8_t layer) {
    return graph_elements(schedule->file, (uint8_t)(layer + 1));
}

static layer_shape_t shape_of(const schedule_t *schedule, uint8_t layer) {
    return graph_shape(graph_layer(schedule->file, layer));
}

/* Note a buffer, to be placed. */
static void add(plan_t *plan, uint32_t *to, uint64_t size, uint8_t first, uint8_t last) {
    const uint64_t rounded = (size + 7) / 8 * 8;
    plan->sum = rounded < UINT32_MAX - plan->sum ? plan->sum + (uint32_t)rounded : UINT32_MAX;
    plan->buffer[plan->buffers++] = (buffer_t){.size = (uint32_t)rounded, .to = to, .first = first, .last = last};
}

static void add_forward(plan_t *plan, const schedule_t *schedule) {
    for (uint8_t i = 0; i < schedule->n; i++) {
        if (!is_relu(schedule, i)) {
            add(plan, &plan->layer[i].act, schedule->group * outputs(schedule, i), i, last_use_of_act(schedule, i));
        }
    }
    for (uint8_t i = 0; i < schedule->n; i++) {
        if (is_trained(schedule, i)) {
            add(plan, &plan->layer[i].acc, 4ull * schedule->group * outputs(schedule, i), i, i);
        }
    }
    for (uint8_t i = 0; i < schedule->n; i++) {
        if (is_conv2d(schedule, i)) {
            const layer_shape_t shape = shape_of(schedule, i);
            add(plan, &plan->layer[i].scratch, conv2d_s8_scratch(&shape), i, i);
        }
    }
}

static void add_backward(plan_t *plan, const schedule_t *schedule) {
    for (int i = schedule->n - 1; i >= schedule->first_bp; i--) {
        const uint8_t layer = (uint8_t)i;
        if (!is_relu(schedule, layer)) {
            add(plan, &plan->layer[i].err, schedule->group * outputs(schedule, layer),
                slot_that_makes_err(schedule, layer), backward_slot(schedule, layer));
        }
    }
    for (int i = schedule->n - 1; i > schedule->first_bp; i--) {
        const uint8_t layer = (uint8_t)i, slot = backward_slot(schedule, layer);
        if (is_trained(schedule, layer)) {
            add(plan, &plan->layer[i].eacc, 4ull * schedule->group * inputs(schedule, layer), slot, slot);
        }
    }
    for (int i = schedule->n - 1; i >= schedule->first_bp; i--) {
        const uint8_t layer = (uint8_t)i, slot = backward_slot(schedule, layer);
        if (is_conv2d(schedule, layer)) {
            const layer_shape_t shape = shape_of(schedule, layer);
            add(plan, &plan->layer[i].bscratch, conv2d_s8_weight_gradient_scratch(&shape), slot, slot);
        }
    }
    for (int i = schedule->n - 1; i >= schedule->first_bp; i--) {
        const uint8_t layer = (uint8_t)i;
        if (is_trained(schedule, layer)) {
            add(plan, &plan->layer[i].grad, 4 * (uint64_t)graph_weight_count(graph_layer(schedule->file, layer)), 0,
                last_slot(schedule));
        }
    }
}

static bool collide(const buffer_t *a, uint32_t a_offset, const buffer_t *b) {
    const bool in_time = a->first <= b->last && b->first <= a->last;
    const bool in_memory = a_offset < b->offset + b->size && b->offset < a_offset + a->size;
    return in_time && in_memory;
}

/* A placed buffer that is in the way at `offset`, or NULL. */
static const buffer_t *in_the_way(const plan_t *plan, const buffer_t *buffer, uint32_t offset) {
    for (uint16_t i = 0; i < plan->buffers; i++) {
        if (plan->buffer[i].placed && collide(buffer, offset, &plan->buffer[i])) {
            return &plan->buffer[i];
        }
    }
    return NULL;
}

/* The lowest offset without a collision: whatever is in the way, nothing below its end is free. */
static uint32_t lowest_offset(const plan_t *plan, const buffer_t *buffer) {
    uint32_t offset = 0;
    const buffer_t *other;
    while ((other = in_the_way(plan, buffer, offset)) != NULL) {
        offset = other->offset + other->size;
    }
    return offset;
}

static void place(plan_t *plan, buffer_t *buffer) {
    buffer->offset = lowest_offset(plan, buffer);
    buffer->placed = true;
    if (buffer->to != NULL) {
        *buffer->to = buffer->offset;
    }
    const uint32_t end = buffer->offset + buffer->size;
    plan->size = end > plan->size ? end : plan->size;
}

/* The largest buffer that is not placed, the first of equals; NULL when all are. */
static buffer_t *next_to_place(plan_t *plan) {
    buffer_t *next = NULL;
    for (uint16_t i = 0; i < plan->buffers; i++) {
        buffer_t *buffer = &plan->buffer[i];
        if (!buffer->placed && (next == NULL || buffer->size > next->size)) {
            next = buffer;
        }
    }
    return next;
}

/* relu works in place: its buffers are those of the layer before. */
static void share_with_relus(plan_t *plan, const schedule_t *schedule) {
    for (uint8_t i = 1; i < schedule->n; i++) {
        if (is_relu(schedule, i)) {
            plan->layer[i].act = plan->layer[i - 1].act;
            plan->layer[i].err = plan->layer[i - 1].err;
        }
    }
}

uint32_t plan_make(plan_t *plan, const graph_file_t *file, const settings_t *settings) {
    const schedule_t schedule = {.file = file,
                                 .n = file->layers,
                                 .first_bp = graph_weighted_layer(file, settings->partition),
                                 .group = settings_group(settings)};
    const uint8_t end = last_slot(&schedule);
    *plan = (plan_t){.size = 0};
    add(plan, NULL, file->size, 0, end); /* the blob */
    add(plan, &plan->labels, settings->slots, 0, end);
    add(plan, &plan->samples, settings->slots * inputs(&schedule, 0), 0, end);
    if (settings_keep_logits(settings)) {
        add(plan, &plan->plus_logits, (uint64_t)settings->batch * graph_header(file)->classes, 0, end);
        add(plan, &plan->plus_exponents, 2ull * settings->batch, 0, end);
    }
    if (settings->partition > 0) {
        add(plan, &plan->noise, MOVES_WORDS * sizeof(uint32_t), end, end);
    }
    add_forward(plan, &schedule);
    add_backward(plan, &schedule);
    if (plan->sum == UINT32_MAX) {
        plan->size = UINT32_MAX;
        return plan->size;
    }
    place(plan, &plan->buffer[0]); /* it was there before the plan */
    for (buffer_t *buffer = next_to_place(plan); buffer != NULL; buffer = next_to_place(plan)) {
        place(plan, buffer);
    }
    share_with_relus(plan, &schedule);
    return plan->size;
}
