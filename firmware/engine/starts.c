/* The plan of a step: a method may have its buffers placed again at several layers (docs/memory.md, groups and
   starts). */
#include <stddef.h>

#include "engine/format.h"
#include "engine/method.h"

/* The file, or copies of what is trained of it; then what the method keeps. */
static void stand_all(model_t *model) {
    plan_t *plan = &model->plan;
    plan_clear(plan);
    if (model->in_ram) {
        plan_stand(plan, PLAN_FILE, model->file.size);
    }
    if (!model->in_ram) {
        model_stand_copies(plan, model);
    }
    plan->kept = plan->always;
    if (model->method->stand != NULL) {
        model->method->stand(plan, model);
    }
    plan->size = plan->always;
}

static void place_with(model_t *model, start_t start, uint8_t *arena, buffer_t *buffers, uint16_t room) {
    placing_t placing = plan_open(&model->plan, buffers, room);
    model->method->demand(&placing, model, start);
    plan_close(&placing, arena);
}

/* Two functions, so that each takes its own stack. */
__attribute__((noinline)) static void place_few(model_t *model, start_t start, uint8_t *arena) {
    buffer_t buffers[PLAN_FEW_BUFFERS];
    place_with(model, start, arena, buffers, PLAN_FEW_BUFFERS);
}

__attribute__((noinline)) static void place_many(model_t *model, start_t start, uint8_t *arena) {
    buffer_t buffers[PLAN_MAX_BUFFERS];
    place_with(model, start, arena, buffers, PLAN_MAX_BUFFERS);
}

static void place(model_t *model, start_t start, uint8_t *arena) {
    if (model->file.layers <= PLAN_FEW_LAYERS) {
        place_few(model, start, arena);
    } else {
        place_many(model, start, arena);
    }
}

/* Nothing is in the arena yet but value 0, where it is consumed: at the end of what stays. */
static void place_first(model_t *model) {
    const uint8_t first = first_of_set(model->training.starts);
    if (model->training.consumed) {
        model->plan.at[PLAN_SAMPLES] = model->plan.at[plan_place(PLAN_VALUE, 0)] = model->plan.always;
    }
    place(model, (start_t){.from = 0, .to = first > 0 ? first : model->file.layers}, NULL);
}

/* With one start for all layers they are still placed. */
void model_place_first(model_t *model) {
    if (model->training.starts > 1) {
        place_first(model);
    }
}

void model_place_start(model_t *model, uint8_t from) {
    place(model, (start_t){.from = from, .to = model->file.layers}, model->arena);
}

uint32_t model_plan(model_t *model) {
    const uint8_t n = model->file.layers;
    stand_all(model);
    place_first(model);
    for (uint8_t l = start_from(&model->training, 1, n); l < n; l = start_from(&model->training, (uint8_t)(l + 1), n)) {
        place(model, (start_t){.from = l, .to = n}, NULL);
    }
    if (model->plan.size < UINT32_MAX) {
        model_place_first(model);
    }
    return model->plan.size;
}
