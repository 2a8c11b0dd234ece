#include "graph/slots.h"

enum { EMPTY_SLOT = 0xFFFF /* no label */, MIDDLE = 128 /* the pixel that becomes 0 */ };

bool graph_slot_holds(const graph_engine_t *engine, uint16_t slot) {
    return graph_labels(&engine->model)[slot] != EMPTY_SLOT;
}

void graph_slot_empty(graph_engine_t *engine, uint16_t slot) {
    graph_labels(&engine->model)[slot] = EMPTY_SLOT;
}

void graph_slots_empty(graph_engine_t *engine) {
    for (uint16_t slot = 0; slot < engine->model.settings.slots; slot++) {
        graph_slot_empty(engine, slot);
    }
    engine->filled = 0;
}

failure_t graph_slots_check(const graph_engine_t *engine, uint16_t count) {
    const uint16_t slots = engine->model.settings.slots;
    uint32_t filled = 0;
    if (count == 0 || count > slots) {
        return refusal(FAILURE_BAD_SLOT, count, slots);
    }
    for (uint16_t slot = 0; slot < count; slot++) {
        filled += graph_slot_holds(engine, slot);
    }
    return filled == count ? no_failure() : refusal(FAILURE_SLOTS_EMPTY, filled, count);
}

static failure_t check_slot(const graph_engine_t *engine, uint16_t slot, uint8_t label) {
    const failure_t failure = graph_engine_check_configured(engine);
    if (failure.code != 0) {
        return failure;
    }
    const uint16_t slots = engine->model.settings.slots;
    const bool allowed = slot < slots && label < graph_header(&engine->model.file)->classes;
    return allowed ? no_failure() : refusal(FAILURE_BAD_SLOT, slot, slots);
}

/* A slot counts as empty until its last piece is there. */
static void put_piece(graph_engine_t *engine, uint16_t slot, uint8_t label, uint32_t offset, const uint8_t *pixels,
                      uint32_t n) {
    int8_t *sample = graph_sample(&engine->model, slot) + offset;
    graph_slot_empty(engine, slot);
    for (uint32_t i = 0; i < n; i++) {
        sample[i] = (int8_t)(pixels[i] - MIDDLE);
    }
    engine->filling = slot;
    engine->filled = offset + n;
    if (engine->filled == graph_elements(&engine->model.file, 0)) {
        graph_labels(&engine->model)[slot] = label;
        engine->filled = 0;
    }
}

failure_t graph_engine_put_sample(graph_engine_t *engine, uint16_t slot, uint8_t label, const uint8_t *pixels,
                                  uint32_t n) {
    failure_t failure = graph_engine_check_configured(engine);
    if (failure.code == 0) {
        const uint32_t expected = (uint32_t)graph_elements(&engine->model.file, 0);
        failure = n == expected ? check_slot(engine, slot, label) : refusal(FAILURE_BAD_LENGTH, n, expected);
    }
    if (failure.code == 0) {
        put_piece(engine, slot, label, 0, pixels, n);
    }
    return failure;
}

failure_t graph_engine_put_part(graph_engine_t *engine, uint16_t slot, uint8_t label, uint32_t offset,
                                const uint8_t *pixels, uint32_t n) {
    const failure_t failure = check_slot(engine, slot, label);
    if (failure.code != 0) {
        return failure;
    }
    const uint32_t expected = slot == engine->filling ? engine->filled : 0;
    const uint32_t left = (uint32_t)graph_elements(&engine->model.file, 0) - (offset > 0 ? expected : 0);
    if (offset > 0 && offset != expected) {
        return refusal(FAILURE_OUT_OF_ORDER, offset, expected);
    }
    if (n == 0 || n > left) {
        return refusal(FAILURE_BAD_LENGTH, n, left);
    }
    put_piece(engine, slot, label, offset, pixels, n);
    return no_failure();
}
