/* The plan of ElasticZO on float32: docs/memory.md, float32. */
#include <string.h>

#include "check.h"
#include "float32_made.h"
#include "formats/float32.h"

static float no_element(uint32_t tensor, uint32_t i) {
    (void)tensor;
    (void)i;
    return 0.0f;
}

/* LeNet-5, whose weights do not matter here. */
static void made_lenet5(graph_made_t *made) {
    const limits_f32_t limits[] = {relu_limits, no_limits, relu_limits, no_limits, relu_limits, relu_limits, no_limits};
    made_begin(made, 28, 28, 1, 10);
    made_window(made, OP_CONV2D, 0, 6, 5, 5, 1, 2);
    made_window(made, OP_MAX_POOL, 1, 0, 2, 2, 2, 0);
    made_window(made, OP_CONV2D, 2, 16, 5, 5, 1, 2);
    made_window(made, OP_MAX_POOL, 3, 0, 2, 2, 2, 0);
    made_fully_connected(made, 4, 120);
    made_fully_connected(made, 5, 84);
    made_fully_connected(made, 6, 10);
    float32_finish(made, 0x1.010102p-8f, -128, limits, no_element);
}

static float32_trainee_t lenet5(uint8_t partition, uint16_t slots) {
    graph_made_t made;
    made_lenet5(&made);
    elasticzo_fp32_settings_t settings = vector_settings(partition);
    settings.batch = 32;
    settings.slots = slots;
    const float32_trainee_t trainee = float32_trainee_new(&made, &settings);
    made_free(&made);
    return trainee;
}

/* The example of the text. */
static void test_example(void) {
    static const struct {
        enum plan_line line;
        uint8_t i;
        uint32_t at;
    } rows[] = {
        {PLAN_VALUE, 1, 0},     {PLAN_ERROR, 1, 18816},    {PLAN_VALUE, 3, 18816}, {PLAN_ERROR, 3, 31360},
        {PLAN_VALUE, 2, 43904}, {PLAN_ERROR, 2, 48608},    {PLAN_VALUE, 0, 18816}, {PLAN_VALUE, 4, 31360},
        {PLAN_ERROR, 4, 48608}, {FLOAT32_INPUT, 0, 37632}, {PLAN_VALUE, 5, 34496}, {PLAN_ERROR, 5, 34976},
        {PLAN_VALUE, 6, 35456}, {PLAN_ERROR, 6, 35792},    {PLAN_VALUE, 7, 34976}, {PLAN_ERROR, 7, 35016},
    };
    float32_trainee_t trainee = lenet5(0, 1);
    const plan_t *plan = &trainee.engine->model.plan;
    CHECK(plan->at[PLAN_LABELS] == 431488 && plan->always == 863424, "%u stay", plan->always);
    for (uint32_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const uint32_t at = plan_at(plan, rows[row].line, rows[row].i) - plan->always;
        CHECK(at == rows[row].at, "row %u at %u, not %u", row, at, rows[row].at);
    }
    for (uint8_t l = 1; l < 7; l++) {
        CHECK(plan_at(plan, FLOAT32_INPUT, l) == PLAN_NOWHERE, "layer %u does not read value 0", l);
    }
    CHECK(trainee.planned == 916736, "%u bytes", trainee.planned);
    float32_trainee_free(&trainee);
}

/* Value 0 is computed again only where back-propagation trains a layer that reads it. */
static void test_totals(void) {
    static const struct {
        uint8_t partition;
        uint16_t slots;
        uint32_t bytes;
    } rows[] = {{0, 2, 917520}, {0, 32, 941096}, {1, 1, 895728}, {3, 1, 499856}, {4, 1, 459200}, {5, 1, 455800}};
    for (uint32_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        float32_trainee_t trainee = lenet5(rows[row].partition, rows[row].slots);
        const bool again = plan_at(&trainee.engine->model.plan, FLOAT32_INPUT, 0) != PLAN_NOWHERE;
        CHECK(trainee.planned == rows[row].bytes, "C = %u: %u bytes", rows[row].partition, trainee.planned);
        CHECK(again == (rows[row].partition == 0), "C = %u", rows[row].partition);
        float32_trainee_free(&trainee);
    }
}

/* Weights and biases that two layers share. */
static float twin_element(uint32_t tensor, uint32_t i) {
    return vector_element(tensor < 4 ? tensor % 2 : tensor, i);
}

/* Two layers that read value 0, and whose outputs are added, have the same gradients: value 0 is computed for each. */
static void test_two_readers(void) {
    const limits_f32_t limits[] = {no_limits, no_limits, relu_limits, no_limits};
    graph_made_t made;
    made_begin(&made, 5, 4, 3, 3);
    made_window(&made, OP_POINTWISE, 0, 4, 1, 1, 1, 0);
    made_window(&made, OP_POINTWISE, 0, 4, 1, 1, 1, 0);
    made_add(&made, 1, 2);
    made_fully_connected(&made, 3, 3);
    float32_finish(&made, 0x1p-7f, 0, limits, twin_element);
    const elasticzo_fp32_settings_t settings = vector_settings(0);
    float32_trainee_t trainee = float32_trainee_new(&made, &settings);
    model_t *model = &trainee.engine->model;
    float32_fill(&trainee, 0, 1);
    float input[60];
    const pass_t pass = {.sample = model_sample(model, 0), .count = 1};
    float32_make_input(model, &pass, input);
    model->method->trace(model, 0, 1);
    const float *first = float32_buffer(model, PLAN_GRADIENT, 0), *second = float32_buffer(model, PLAN_GRADIENT, 1);
    float largest = 0.0f;
    for (uint32_t i = 0; i < 16; i++) {
        largest = largest > first[i] ? largest : first[i];
    }
    CHECK(largest > 0.0f && memcmp(first, second, 16 * sizeof *first) == 0, "gradients of the same layer twice");
    CHECK(memcmp(float32_buffer(model, FLOAT32_INPUT, 0), input, sizeof input) == 0, "value 0, computed again");
    float32_trainee_free(&trainee);
    made_free(&made);
}

void test_float32_plan(void) {
    test_example();
    test_totals();
    test_two_readers();
}
