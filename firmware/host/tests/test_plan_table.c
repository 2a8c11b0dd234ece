#include "chain_made.h"
#include "check.h"
#include "planned.h"

/* A buffer as the table of docs/memory.md has it. */
typedef struct {
    uint32_t size;
    uint8_t first, last;
} row_t;

/* The file, then the others by size, equal ones in the order of the table. */
static void check_rows(const planned_t *planned, const row_t *rows, uint32_t n) {
    row_t sorted[PLAN_MAX_BUFFERS];
    CHECK(planned->placed.count == n - 1, "%u buffers, not %u", planned->placed.count, n - 1);
    for (uint32_t i = 1; i < n; i++) {
        const row_t row = {.size = (rows[i].size + 7) / 8 * 8, .first = rows[i].first, .last = rows[i].last};
        uint32_t at = i - 1;
        for (; at > 0 && sorted[at - 1].size < row.size; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = row;
    }
    CHECK(planned->model.plan.always == (rows[0].size + 7) / 8 * 8, "the file");
    for (uint32_t i = 0; i + 1 < n; i++) {
        const buffer_t *buffer = &planned->placed.buffer[i];
        CHECK(buffer->bytes == sorted[i].size, "buffer %u: %u bytes, not %u", i, buffer->bytes, sorted[i].size);
        CHECK(buffer->first == sorted[i].first && buffer->last == sorted[i].last,
              "buffer %u: slots %u to %u, not %u to %u", i, buffer->first, buffer->last, sorted[i].first,
              sorted[i].last);
    }
}

/* The small network, 0 conv 8x8x2->8x8x3, 1 relu, 2 pool ->4x4x3, 3 conv 3x2 ->4x5x5, 4 relu, 5 pool ->2x2x5, 6 fc
   20->11, 7 relu, 8 fc 11->5, worked out by hand from the text: 9 layers, loss at slot 9, backward pass of layer i at
   slot 18 - i. */
static void test_table(void) {
    graph_made_t file;
    chain_small(&file);
    planned_t *planned = planned_open(&file);

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
    (void)planned_make(planned, (elasticzo_settings_t){.partition = 4, .batch = 4, .slots = 4});
    check_rows(planned, forward, sizeof forward / sizeof forward[0]);

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
    (void)planned_make(planned, (elasticzo_settings_t){.partition = 0, .batch = 4, .slots = 4});
    check_rows(planned, all, sizeof all / sizeof all[0]);
    const plan_t *plan = &planned->model.plan;
    CHECK(plan_at(plan, PLAN_VALUE, 2) == plan_at(plan, PLAN_VALUE, 1), "relu in place");
    CHECK(plan_at(plan, PLAN_ERROR, 8) == plan_at(plan, PLAN_ERROR, 7), "relu in place on the way back");

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
    (void)planned_make(planned, (elasticzo_settings_t){.partition = 2, .batch = 4, .slots = 4});
    check_rows(planned, last_two, sizeof last_two / sizeof last_two[0]);
    free(planned);
    made_free(&file);
}

/* The same network with an integer loss: a batch of 7 with 3 slots, and a group of 3. */
static void test_table_of_groups(void) {
    graph_made_t file;
    chain_small(&file);
    planned_t *planned = planned_open(&file);

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
    (void)planned_make(planned, (elasticzo_settings_t){.partition = 3, .loss = LOSS_INTEGER, .batch = 7, .slots = 3});
    check_rows(planned, streamed, sizeof streamed / sizeof streamed[0]);

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
    (void)planned_make(
        planned,
        (elasticzo_settings_t){.partition = 2, .loss = LOSS_INTEGER, .scope = SCOPE_BATCH, .batch = 3, .slots = 3});
    check_rows(planned, grouped, sizeof grouped / sizeof grouped[0]);

    (void)planned_make(planned, (elasticzo_settings_t){.partition = 0, .loss = LOSS_INTEGER, .batch = 3, .slots = 3});
    CHECK(planned->placed.count == 29, "%u buffers: without zeroth order no logits are kept", planned->placed.count);
    free(planned);
    made_free(&file);
}

void test_plan_table(void) {
    test_table();
    test_table_of_groups();
}
