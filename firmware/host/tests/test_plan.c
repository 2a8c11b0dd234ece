#include <stdbool.h>
#include <string.h>

#include "chain_made.h"
#include "check.h"
#include "net/plan.h"
#include "trainee.h"

static graph_file_t opened(const graph_made_t *made) {
    graph_file_t file;
    const failure_t failure = graph_file_open_as(&file, made->bytes, made->size, FORMAT_BFP8);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return file;
}

static bool share_a_slot(const buffer_t *a, const buffer_t *b) {
    for (uint32_t slot = a->first; slot <= a->last; slot++) {
        if (slot >= b->first && slot <= b->last) {
            return true;
        }
    }
    return false;
}

static bool is_free(const plan_t *plan, const bool *placed, const buffer_t *buffer, uint32_t offset) {
    for (uint32_t i = 0; i < plan->buffers; i++) {
        const buffer_t *other = &plan->buffer[i];
        const bool apart = offset + buffer->size <= other->offset || other->offset + other->size <= offset;
        if (placed[i] && share_a_slot(buffer, other) && !apart) {
            return false;
        }
    }
    return true;
}

/* Place everything again by trying every multiple of 8, and compare. */
static void check_placement(const plan_t *plan) {
    bool placed[PLAN_MAX_BUFFERS] = {false};
    uint32_t size = 0;
    for (uint32_t round = 0; round < plan->buffers; round++) {
        uint32_t next = 0;
        for (uint32_t i = 1; i < plan->buffers && round > 0; i++) {
            if (!placed[i] && (placed[next] || plan->buffer[i].size > plan->buffer[next].size)) {
                next = i;
            }
        }
        const buffer_t *buffer = &plan->buffer[next];
        uint32_t offset = 0;
        while (!is_free(plan, placed, buffer, offset)) {
            offset += 8;
        }
        CHECK(buffer->offset == offset, "buffer %u of %u at %u, not %u", next, plan->buffers, buffer->offset, offset);
        placed[next] = true;
        size = offset + buffer->size > size ? offset + buffer->size : size;
    }
    CHECK(plan->size == size && plan->buffer[0].offset == 0, "size %u, not %u", plan->size, size);
}

static void test_placement(void) {
    for (int round = 0; round < 150; round++) {
        graph_made_t file;
        chain_random(&file);
        const graph_file_t network = opened(&file);
        plan_t *plan = take(sizeof *plan);
        const settings_t settings = draw_settings((uint8_t)draw(0, graph_weighted(&network)));
        plan_make(plan, &network, &settings);
        check_placement(plan);
        free(plan);
        made_free(&file);
    }
}

/* A buffer as the table of docs/memory.md has it. */
typedef struct {
    uint32_t size;
    uint8_t first, last;
} row_t;

static void check_rows(const plan_t *plan, const row_t *rows, uint32_t n) {
    CHECK(plan->buffers == n, "%u buffers, not %u", plan->buffers, n);
    for (uint32_t i = 0; i < n; i++) {
        const buffer_t *buffer = &plan->buffer[i];
        CHECK(buffer->size == (rows[i].size + 7) / 8 * 8, "buffer %u: %u bytes, not %u", i, buffer->size, rows[i].size);
        CHECK(buffer->first == rows[i].first && buffer->last == rows[i].last, "buffer %u: slots %u to %u, not %u to %u",
              i, buffer->first, buffer->last, rows[i].first, rows[i].last);
    }
}

/* The small network, 0 conv 8x8x2->8x8x3, 1 relu, 2 pool ->4x4x3, 3 conv 3x2 ->4x5x5, 4 relu, 5 pool ->2x2x5, 6 fc 20->11,
   7 relu, 8 fc 11->5, worked out by hand from the text: 9 layers, loss at slot 9, backward pass of layer i at slot 18 - i. */
static void test_table(void) {
    graph_made_t file;
    chain_small(&file);
    const graph_file_t network = opened(&file);
    plan_t *plan = take(sizeof *plan);

    const row_t forward[] = {
        {file.size, 0, 19},
        {4, 0, 19},
        {4 * 128, 0, 19}, /* always */
        {4096, 19, 19},   /* noise */
        {192, 0, 2},
        {48, 2, 3},
        {100, 3, 5},
        {20, 5, 6},
        {11, 6, 8},
        {5, 8, 9}, /* act */
        {768, 0, 0},
        {400, 3, 3},
        {44, 6, 6},
        {20, 8, 8}, /* acc */
        {10 * 10 * 2 + 64 + 4 * 3 * 7, 0, 0},
        {6 * 6 * 3 + 64 + 4 * 3 * 7, 3, 3}, /* scratch */
    };
    plan_make(plan, &network, &(settings_t){.partition = 4, .batch = 4, .slots = 4});
    check_rows(plan, forward, sizeof forward / sizeof forward[0]);

    const row_t all[] = {
        {file.size, 0, 19},
        {4, 0, 19},
        {4 * 128, 0, 19}, /* always */
        {192, 0, 17},
        {48, 2, 15},
        {100, 3, 14},
        {20, 5, 12},
        {11, 6, 11},
        {5, 8, 9}, /* act */
        {768, 0, 0},
        {400, 3, 3},
        {44, 6, 6},
        {20, 8, 8}, /* acc */
        {10 * 10 * 2 + 64 + 4 * 3 * 7, 0, 0},
        {6 * 6 * 3 + 64 + 4 * 3 * 7, 3, 3}, /* scratch */
        {5, 9, 10},
        {11, 10, 12},
        {20, 12, 13},
        {100, 13, 15},
        {48, 15, 16},
        {192, 16, 18}, /* err */
        {44, 10, 10},
        {80, 12, 12},
        {192, 15, 15}, /* eacc */
        {6 * 6 * 3 + 64 + 4 * 18, 15, 15},
        {10 * 10 * 2 + 64 + 4 * 18, 18, 18}, /* bscratch */
        {220, 0, 19},
        {880, 0, 19},
        {360, 0, 19},
        {216, 0, 19}, /* grad */
    };
    plan_make(plan, &network, &(settings_t){.partition = 0, .batch = 4, .slots = 4});
    check_rows(plan, all, sizeof all / sizeof all[0]);
    CHECK(plan->layer[1].act == plan->layer[0].act && plan->layer[7].err == plan->layer[6].err, "relu in place");

    const row_t last_two[] = {
        {file.size, 0, 19},
        {4, 0, 19},
        {4 * 128, 0, 19}, /* always */
        {4096, 19, 19},   /* noise */
        {192, 0, 2},
        {48, 2, 3},
        {100, 3, 5},
        {20, 5, 12},
        {11, 6, 11},
        {5, 8, 9}, /* act */
        {768, 0, 0},
        {400, 3, 3},
        {44, 6, 6},
        {20, 8, 8}, /* acc */
        {10 * 10 * 2 + 64 + 4 * 3 * 7, 0, 0},
        {6 * 6 * 3 + 64 + 4 * 3 * 7, 3, 3}, /* scratch */
        {5, 9, 10},
        {11, 10, 12}, /* err */
        {44, 10, 10}, /* eacc */
        {220, 0, 19},
        {880, 0, 19}, /* grad */
    };
    plan_make(plan, &network, &(settings_t){.partition = 2, .batch = 4, .slots = 4});
    check_rows(plan, last_two, sizeof last_two / sizeof last_two[0]);
    free(plan);
    made_free(&file);
}

/* The same network with an integer loss: a batch of 7 with 3 slots, and a group of 3. */
static void test_table_of_groups(void) {
    graph_made_t file;
    chain_small(&file);
    const graph_file_t network = opened(&file);
    plan_t *plan = take(sizeof *plan);

    const row_t streamed[] = {
        {file.size, 0, 19},
        {3, 0, 19},
        {3 * 128, 0, 19},
        {7 * 5, 0, 19},
        {7 * 2, 0, 19}, /* always */
        {4096, 19, 19}, /* noise */
        {192, 0, 2},
        {48, 2, 3},
        {100, 3, 5},
        {20, 5, 6},
        {11, 6, 10},
        {5, 8, 9}, /* act */
        {768, 0, 0},
        {400, 3, 3},
        {44, 6, 6},
        {20, 8, 8}, /* acc */
        {10 * 10 * 2 + 64 + 4 * 3 * 7, 0, 0},
        {6 * 6 * 3 + 64 + 4 * 3 * 7, 3, 3}, /* scratch */
        {5, 9, 10},
        {220, 0, 19}, /* err, grad */
    };
    plan_make(plan, &network, &(settings_t){.partition = 3, .loss = LOSS_INTEGER, .batch = 7, .slots = 3});
    check_rows(plan, streamed, sizeof streamed / sizeof streamed[0]);

    const row_t grouped[] = {
        {file.size, 0, 19},
        {3, 0, 19},
        {3 * 128, 0, 19},
        {3 * 5, 0, 19},
        {3 * 2, 0, 19}, /* always */
        {4096, 19, 19}, /* noise */
        {576, 0, 2},
        {144, 2, 3},
        {300, 3, 5},
        {60, 5, 12},
        {33, 6, 11},
        {15, 8, 9}, /* act */
        {2304, 0, 0},
        {1200, 3, 3},
        {132, 6, 6},
        {60, 8, 8}, /* acc */
        {10 * 10 * 2 + 64 + 4 * 3 * 7, 0, 0},
        {6 * 6 * 3 + 64 + 4 * 3 * 7, 3, 3}, /* scratch */
        {15, 9, 10},
        {33, 10, 12},
        {132, 10, 10}, /* err, eacc */
        {220, 0, 19},
        {880, 0, 19}, /* grad */
    };
    plan_make(plan, &network,
              &(settings_t){.partition = 2, .loss = LOSS_INTEGER, .scope = SCOPE_BATCH, .batch = 3, .slots = 3});
    check_rows(plan, grouped, sizeof grouped / sizeof grouped[0]);

    plan_make(plan, &network, &(settings_t){.partition = 0, .loss = LOSS_INTEGER, .batch = 3, .slots = 3});
    CHECK(plan->buffers == 30, "%u buffers: without zeroth order no logits are kept", plan->buffers);
    free(plan);
    made_free(&file);
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
    const graph_file_t network = opened(&file);
    plan_t *plan = take(sizeof *plan);
    const settings_t settings = {.batch = 1, .slots = 1};
    plan_make(plan, &network, &settings);
    CHECK(plan->buffers == 3 + 32 + 32 + 31 + 32 + 31 + 31 + 32, "%u buffers", plan->buffers);
    check_placement(plan);

    graph_layer_t *layer = made_record(&file, 5);
    layer->out_h = layer->out_w = layer->out_c = UINT16_MAX;
    CHECK(plan_make(plan, &network, &settings) == UINT32_MAX, "a tensor of 2^48 bytes has no place");
    free(plan);
    made_free(&file);
}

void test_plan(void) {
    test_table();
    test_table_of_groups();
    test_placement();
    test_bounds();
}
