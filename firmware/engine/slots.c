#include <string.h>

#include "engine/engine.h"

enum { EMPTY_LABEL = UINT16_MAX /* no class has it */ };

/* With labels of one byte, a value that no pixel becomes, at the first input of a sample. */
static const uint8_t empty_value[] = {0x80, 0x80, 0x80, 0x80};

static uint8_t *narrow_labels(const engine_t *engine) {
    return engine->model.arena + engine->model.plan.at[PLAN_LABELS];
}

static uint16_t *wide_labels(const engine_t *engine) {
    return (uint16_t *)(void *)narrow_labels(engine);
}

static bool has_wide_labels(const engine_t *engine) {
    return model_format(&engine->model, 0)->label_bytes == sizeof(uint16_t);
}

uint16_t slot_label(const engine_t *engine, uint16_t slot) {
    return has_wide_labels(engine) ? wide_labels(engine)[slot] : narrow_labels(engine)[slot];
}

bool slot_holds(const engine_t *engine, uint16_t slot) {
    const model_t *model = &engine->model;
    return has_wide_labels(engine)
               ? wide_labels(engine)[slot] != EMPTY_LABEL
               : memcmp(model_sample(model, slot), empty_value, graph_value_bytes(&model->file, 0)) != 0;
}

void slot_empty(engine_t *engine, uint16_t slot) {
    if (has_wide_labels(engine)) {
        wide_labels(engine)[slot] = EMPTY_LABEL;
    } else {
        memcpy(model_sample(&engine->model, slot), empty_value, graph_value_bytes(&engine->model.file, 0));
    }
}

void slots_empty(engine_t *engine) {
    for (uint16_t slot = 0; slot < engine->model.settings.slots; slot++) {
        slot_empty(engine, slot);
    }
    engine->filled = 0;
}

failure_t slots_check(const engine_t *engine, uint16_t count) {
    const uint16_t slots = engine->model.settings.slots;
    uint32_t filled = 0;
    if (count == 0 || count > slots) {
        return refusal(FAILURE_BAD_SLOT, count, slots);
    }
    for (uint16_t slot = 0; slot < count; slot++) {
        filled += slot_holds(engine, slot);
    }
    return filled == count ? no_failure() : refusal(FAILURE_SLOTS_EMPTY, filled, count);
}

uint16_t slots_filled(const engine_t *engine) {
    uint16_t slot = 0;
    while (slot < engine->model.settings.slots && slot_holds(engine, slot)) {
        slot++;
    }
    return slot;
}

static failure_t check_slot(const engine_t *engine, uint16_t slot, uint16_t label) {
    RETURN_IF_REFUSED(engine_check_configured(engine));
    const uint16_t slots = engine->model.settings.slots, classes = model_classes(&engine->model);
    if (slot >= slots) {
        return refusal(FAILURE_BAD_SLOT, slot, slots);
    }
    return label < classes ? no_failure() : refusal(FAILURE_BAD_SLOT, label, classes);
}

/* With labels of one byte the first value of a sample in pieces, of at most two bytes, waits: so the mark of an empty
   slot stays until the last piece is there. */
static void put_piece(engine_t *engine, uint16_t slot, uint16_t label, uint32_t offset, const uint8_t *pixels,
                      uint32_t n) {
    const graph_file_t *file = &engine->model.file;
    const bool wide = has_wide_labels(engine), last = offset + n == graph_elements(file, 0);
    int8_t *sample = model_sample(&engine->model, slot);
    model_format(&engine->model, 0)->load(sample + offset * file->sample_bytes, pixels, n);
    if (!wide && offset == 0) {
        memcpy(engine->first_value, sample, graph_value_bytes(file, 0));
    }
    engine->filling = slot;
    engine->filled = last ? 0 : offset + n;
    if (!last) {
        slot_empty(engine, slot);
    } else if (wide) {
        wide_labels(engine)[slot] = label;
    } else {
        memcpy(sample, engine->first_value, graph_value_bytes(file, 0));
        narrow_labels(engine)[slot] = (uint8_t)label; /* of at most 256 classes: graph/checks_bfp8.c */
    }
}

failure_t engine_put_sample(engine_t *engine, uint16_t slot, uint16_t label, const uint8_t *pixels, uint32_t n) {
    RETURN_IF_REFUSED(engine_check_configured(engine));
    const uint32_t expected = (uint32_t)graph_elements(&engine->model.file, 0);
    if (n != expected) {
        return refusal(FAILURE_BAD_LENGTH, n, expected);
    }
    RETURN_IF_REFUSED(check_slot(engine, slot, label));
    put_piece(engine, slot, label, 0, pixels, n);
    return no_failure();
}

failure_t engine_put_kept(engine_t *engine, uint16_t slot, const uint8_t *numbers, uint32_t n) {
    uint32_t number;
    uint16_t label;
    RETURN_IF_REFUSED(engine_check_configured(engine));
    const uint32_t pixels = (uint32_t)graph_elements(&engine->model.file, 0);
    const uint32_t each = (uint32_t)sizeof label + pixels, there = engine->kept.bytes / each;
    if (n == 0 || n % sizeof number != 0) {
        return refusal(FAILURE_BAD_LENGTH, n, n / sizeof number * sizeof number);
    }
    for (uint32_t at = 0; at < n; at += (uint32_t)sizeof number, slot++) {
        memcpy(&number, numbers + at, sizeof number);
        if (number >= there) {
            return refusal(FAILURE_BAD_SLOT, number, there);
        }
        const uint8_t *sample = engine->kept.samples + number * each;
        memcpy(&label, sample, sizeof label);
        RETURN_IF_REFUSED(engine_put_sample(engine, slot, label, sample + sizeof label, pixels));
    }
    return no_failure();
}

failure_t engine_put_part(engine_t *engine, uint16_t slot, uint16_t label, uint32_t offset, const uint8_t *pixels,
                          uint32_t n) {
    RETURN_IF_REFUSED(check_slot(engine, slot, label));
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
