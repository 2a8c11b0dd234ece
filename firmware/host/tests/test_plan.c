#include <stdbool.h>

#include "chain_made.h"
#include "check.h"
#include "planned.h"

static uint32_t offset_of(const planned_t *planned, const buffer_t *buffer) {
    return planned->model.plan.at[buffer->place];
}

static bool share_a_slot(const buffer_t *a, const buffer_t *b) {
    for (uint32_t slot = a->first; slot <= a->last; slot++) {
        if (slot >= b->first && slot <= b->last) {
            return true;
        }
    }
    return false;
}

static bool is_free(const planned_t *planned, uint32_t before, const buffer_t *buffer, uint32_t offset) {
    for (uint32_t i = 0; i < before; i++) {
        const buffer_t *other = &planned->placed.buffer[i];
        const uint32_t at = offset_of(planned, other);
        const bool apart = offset + buffer->bytes <= at || at + other->bytes <= offset;
        if (share_a_slot(buffer, other) && !apart) {
            return false;
        }
    }
    return true;
}

/* Place everything again by trying every multiple of 8 behind the file, and compare. */
static void check_placement(const planned_t *planned) {
    const uint32_t file = (planned->model.file.size + 7) / 8 * 8;
    uint32_t size = file;
    for (uint32_t i = 0; i < planned->placed.count; i++) {
        const buffer_t *buffer = &planned->placed.buffer[i];
        uint32_t offset = file;
        CHECK(i == 0 || buffer[-1].bytes >= buffer->bytes, "buffer %u is larger than the one before it", i);
        while (!is_free(planned, i, buffer, offset)) {
            offset += 8;
        }
        CHECK(offset_of(planned, buffer) == offset, "buffer %u of %u at %u, not %u", i, planned->placed.count,
              offset_of(planned, buffer), offset);
        size = offset + buffer->bytes > size ? offset + buffer->bytes : size;
    }
    CHECK(planned->model.plan.size == size, "size %u, not %u", planned->model.plan.size, size);
    CHECK(planned->model.plan.at[PLAN_FILE] == 0 && planned->model.plan.always == file, "the file comes first");
}

static void test_placement(void) {
    for (int round = 0; round < 150; round++) {
        graph_made_t file;
        chain_random(&file);
        planned_t *planned = planned_open(&file);
        (void)planned_make(planned, draw_settings((uint8_t)draw(0, graph_weighted(&planned->model.file))));
        check_placement(planned);
        free(planned);
        made_free(&file);
    }
}

/* The largest network that a file can describe: every row of the table is there, and no sum wraps. */
static void test_bounds(void) {
    graph_made_t file;
    chain_begin(&file, 3, 3, 1, 2);
    for (int i = 0; i < 31; i++) {
        chain_conv2d(&file, 1, 3, 3, 1, -8);
    }
    chain_fully_connected(&file, 2, -8);
    made_finish(&file, 127);
    planned_t *planned = planned_open(&file);
    const elasticzo_settings_t settings = {.batch = 1, .slots = 1};
    (void)planned_make(planned, settings);
    CHECK(planned->placed.count == 2 + 32 + 32 + 31 + 32 + 31 + 31 + 32, "%u buffers", planned->placed.count);
    check_placement(planned);

    graph_layer_t *layer = made_record(&file, 5);
    layer->out_h = layer->out_w = layer->out_c = UINT16_MAX;
    CHECK(planned_make(planned, settings) == UINT32_MAX, "a tensor of 2^48 bytes has no place");
    free(planned);
    made_free(&file);
}

void test_plan(void) {
    test_placement();
    test_bounds();
}
