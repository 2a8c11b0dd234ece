#include "net/slots.h"

/* No pixel becomes this value: it marks, at the first input of a sample, a slot that is empty. */
#define EMPTY_SLOT INT8_MIN

static int8_t *mark_of(const engine_t *engine, uint16_t slot) {
    return (int8_t *)model_sample(&engine->model, slot);
}

bool slots_hold(const engine_t *engine, uint16_t slot) {
    return *mark_of(engine, slot) != EMPTY_SLOT;
}

void slots_empty(engine_t *engine) {
    for (uint16_t slot = 0; slot < engine->settings.slots; slot++) {
        *mark_of(engine, slot) = EMPTY_SLOT;
    }
}

failure_t engine_put_sample(engine_t *engine, uint16_t slot, uint8_t label, const uint8_t *pixels, uint32_t n) {
    const failure_t failure = engine_check_configured(engine);
    if (failure.code != 0) {
        return failure;
    }
    const uint32_t expected = (uint32_t)graph_elements(&engine->model.file, 0);
    if (n != expected) {
        return refusal(FAILURE_BAD_LENGTH, n, expected);
    }
    if (slot >= engine->settings.slots || label >= model_classes(&engine->model)) {
        return refusal(FAILURE_BAD_SLOT, slot, engine->settings.slots);
    }
    int8_t *sample = mark_of(engine, slot);
    for (uint32_t i = 0; i < n; i++) {
        sample[i] = (int8_t)(pixels[i] >> 1);
    }
    model_labels(&engine->model)[slot] = label;
    return no_failure();
}

failure_t slots_check(const engine_t *engine, uint16_t count) {
    uint32_t filled = 0;
    if (count == 0 || count > engine->settings.slots) {
        return refusal(FAILURE_BAD_SLOT, count, engine->settings.slots);
    }
    for (uint16_t slot = 0; slot < count; slot++) {
        filled += slots_hold(engine, slot);
    }
    return filled == count ? no_failure() : refusal(FAILURE_SLOTS_EMPTY, filled, count);
}

uint16_t slots_filled(const engine_t *engine) {
    uint16_t slot = 0;
    while (slot < engine->settings.slots && slots_hold(engine, slot)) {
        slot++;
    }
    return slot;
}
