/* Costs, refusals, memory and choices of TinyTrain: docs/arithmetic-tinytrain.md, sections 4, 5, 7 and 8. */
#include <stddef.h>
#include <string.h>

#include "check.h"
#include "tinytrain_made.h"

#define AT(name) offsetof(tflite8_settings_t, name)

static training_t training_of(const graph_file_t *file, const tflite8_settings_t *settings) {
    return graph_trainee_method(METHOD_TINYTRAIN)->training((const settings_t *)(const void *)settings, file);
}

/* k, b and W of each candidate alone; W_all is that of a work budget of 256. */
typedef struct {
    uint64_t whole, most;
    uint8_t layers;
    struct {
        uint8_t l;
        uint32_t k;
        uint64_t bytes, work;
    } row[5];
} costs_row_t;

static void check_costs(char network, tflite8_settings_t settings, const costs_row_t *expected) {
    graph_made_t made;
    tinytrain_made(&made, network);
    graph_file_t file;
    CHECK(graph_file_open(&file, made.bytes, made.size).code == 0, "a network");
    const training_t training = training_of(&file, &settings);
    const costs_t costs = {.settings = &settings, .file = &file, .training = &training};
    uint64_t candidates = 0;
    if (expected->most > 0) {
        CHECK(tinytrain_most_work(&costs) == expected->most, "W_max %llu",
              (unsigned long long)tinytrain_most_work(&costs));
    }
    for (uint8_t i = 0; i < expected->layers; i++) {
        const uint8_t l = expected->row[i].l;
        const uint64_t alone = UINT64_C(1) << l;
        candidates |= alone;
        CHECK(tinytrain_channels(&costs, l) == expected->row[i].k, "k of layer %u", l);
        CHECK(tinytrain_bytes(&costs, l) == expected->row[i].bytes, "b of layer %u", l);
        CHECK(tinytrain_work(&costs, alone) == expected->row[i].work, "W of layer %u", l);
    }
    CHECK(tinytrain_candidates(&training) == candidates, "the candidates");
    settings.work_budget = 256;
    CHECK(tinytrain_most_work(&costs) == expected->whole, "W_all");
    made_free(&made);
}

static void test_costs(void) {
    static const costs_row_t
        a = {1512, 224, 2, {{0, 2, 80, 756}, {2, 3, 444, 108}}},
        moved = {1512, 224, 2, {{0, 2, 160, 756}, {2, 3, 888, 108}}},
        biases = {108, 16, 2, {{0, 2, 8, 108}, {2, 3, 12, 0}}},
        b = {3556, 527, 5, {{0, 2, 24, 1778}, {1, 4, 160, 1714}, {2, 2, 40, 1010}, {4, 3, 444, 450}, {6, 3, 84, 18}}},
        inner = {2834, 0, 3, {{1, 4, 144, 1714}, {2, 2, 32, 1010}, {4, 3, 432, 450}}};
    tflite8_settings_t settings = tinytrain_settings();
    check_costs('A', settings, &a);
    check_costs('B', settings, &b);
    settings.momentum = 0.5f;
    check_costs('A', settings, &moved);
    settings = tinytrain_settings();
    settings.train = TRAIN_BIAS;
    check_costs('A', settings, &biases);
    settings = tinytrain_settings();
    settings.blocks = 6;
    settings.train_bias = 0;
    check_costs('B', settings, &inner);
}

static void expect_refused(const graph_made_t *made, tflite8_settings_t settings, uint8_t place) {
    const uint8_t found = tinytrain_refused(made, &settings);
    CHECK(found == place, "refused %u, not %u", found, place);
}

static void test_refusals(void) {
    graph_made_t made;
    tinytrain_made(&made, 'A');
    const tflite8_settings_t good = tinytrain_settings();
    expect_refused(&made, good, METHOD_TAKES_ALL);
    tflite8_settings_t settings = good;
    settings.memory_budget = 79;
    expect_refused(&made, settings, AT(memory_budget));
    settings.work_budget = 256;
    settings.memory_budget = 80;
    expect_refused(&made, settings, METHOD_TAKES_ALL);
    settings = good;
    settings.blocks = 1;
    settings.work_budget = 137;
    expect_refused(&made, settings, AT(work_budget));
    settings.work_budget = 138;
    expect_refused(&made, settings, METHOD_TAKES_ALL);
    settings.memory_budget = 79;
    settings.work_budget = 137;
    expect_refused(&made, settings, AT(memory_budget)); /* the first of both */
    settings.direction = DIRECTION_BATCH;
    expect_refused(&made, settings, AT(direction));
    settings.blocks = 2;
    expect_refused(&made, settings, AT(blocks));
    settings = good;
    settings.train = TRAIN_BIAS;
    settings.train_bias = 0;
    expect_refused(&made, settings, AT(train_bias));
    settings = good;
    settings.perturb = PERTURB_NODE;
    settings.difference = DIFFERENCE_CENTRAL;
    expect_refused(&made, settings, AT(difference));
    made_free(&made);
}

/* A trained layer whose output leads nowhere is no candidate: it has no share of the memory. */
static void test_candidates(void) {
    graph_made_t made;
    made_begin(&made, 3, 3, 2, 3);
    made_window(&made, OP_POINTWISE, 0, 2, 1, 1, 1, 0);
    made.layer[0].block = 1;
    made_fully_connected(&made, 0, 3);
    made.layer[1].block = 2;
    made_finish(&made, 127);
    tflite8_settings_t settings = tinytrain_settings();
    settings.blocks = 1;
    expect_refused(&made, settings, AT(blocks));
    settings.blocks = 3;
    settings.work_budget = 256;
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, true);
    const plan_t *plan = &trainee.engine->model.plan;
    CHECK(plan_at(plan, TINYTRAIN_FISHER, 0) == PLAN_NOWHERE, "fisher of no candidate");
    CHECK(plan->always - plan->at[TINYTRAIN_SELECTED] == 232, "selected"); /* 3 x 19 numbers */
    graph_trainee_free(&trainee);
    made_free(&made);
}

/* What both layers of A need is just enough for both. */
static void test_exact_budget(void) {
    graph_made_t made;
    tinytrain_made(&made, 'A');
    tflite8_settings_t settings = tinytrain_settings();
    settings.work_budget = 256;
    for (uint32_t bytes = 523; bytes <= 524; bytes++) {
        settings.memory_budget = bytes;
        graph_trainee_t trainee = graph_trainee_new(&made, &settings, true);
        tinytrain_choose(&trainee.engine->model);
        const uint32_t chosen = (uint32_t)__builtin_popcountll(trainee.engine->model.training.updated);
        CHECK(chosen == (bytes == 524 ? 2 : 1), "%u layers in %u bytes", chosen, bytes);
        graph_trainee_free(&trainee);
    }
    made_free(&made);
}

/* Pools that bp refuses. */
static void test_pool(void) {
    graph_made_t made;
    made_begin(&made, 5, 5, 2, 3);
    made_window(&made, OP_POINTWISE, 0, 2, 1, 1, 1, 0);
    made_window(&made, OP_MAX_POOL, 1, 0, 3, 3, 1, 0);
    made_fully_connected(&made, 2, 3);
    made_finish(&made, 127);
    expect_refused(&made, tinytrain_settings(), AT(method));
    made_free(&made);
}

static uint32_t size_at(const plan_t *plan, uint16_t place, uint16_t next) {
    return plan->at[next] - plan->at[place];
}

static void test_memory(void) {
    static const uint8_t candidates[] = {0, 1, 2, 4, 6};
    static const uint32_t fisher[] = {16, 16, 16, 24, 16};
    graph_made_t made;
    tinytrain_made(&made, 'B');
    CHECK(made.size == 1012, "the file has %u bytes", made.size);
    tflite8_settings_t settings = tinytrain_settings();
    settings.momentum = 0.9f;
    settings.memory_budget = 400;
    settings.work_budget = 256;
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, false);
    const plan_t *plan = &trainee.engine->model.plan;
    CHECK(trainee.planned == 4464, "the arena needs %u bytes", trainee.planned);
    CHECK(size_at(plan, PLAN_FILE, PLAN_LABELS) == 1016 && size_at(plan, PLAN_LABELS, PLAN_SAMPLES) == 8, "the file");
    CHECK(size_at(plan, PLAN_SAMPLES, plan_place(TINYTRAIN_FISHER, 0)) == 96, "samples");
    for (uint32_t i = 0; i < sizeof candidates; i++) {
        const bool last = i + 1 == sizeof candidates;
        const uint16_t next = last ? (uint16_t)TINYTRAIN_SELECTED : plan_place(TINYTRAIN_FISHER, candidates[i + 1]);
        CHECK(size_at(plan, plan_place(TINYTRAIN_FISHER, candidates[i]), next) == fisher[i], "fisher of layer %u",
              candidates[i]);
    }
    CHECK(plan->always - plan->at[TINYTRAIN_SELECTED] == 400 && trainee.planned - plan->always == 2856, "selected");
    graph_trainee_free(&trainee);
    settings.memory_budget = UINT32_MAX;
    trainee = graph_trainee_new(&made, &settings, false);
    plan = &trainee.engine->model.plan;
    CHECK(trainee.planned == 5568 && plan->always - plan->at[TINYTRAIN_SELECTED] == 1504, "the largest");
    graph_trainee_free(&trainee);
    settings.batch = settings.slots = 1;
    settings.momentum = 0.0f;
    trainee = graph_trainee_new(&made, &settings, false);
    plan = &trainee.engine->model.plan;
    CHECK(plan->at[TINYTRAIN_SELECTED] == PLAN_NOWHERE, "nothing is selected");
    CHECK(plan->always == 1016 + 8 + 32 + 88, "what stays");
    graph_trainee_free(&trainee);
    made_free(&made);
}

/* D of many equal numbers, some so large that scores are infinite. */
static void draw_fisher(const model_t *model) {
    static const float numbers[] = {0.0f, 0x1p-60f, 1.0f, 1.5f, 0x1p127f};
    const int32_t most = draw(0, 4);
    for (uint8_t l = 0; l < model->file.layers; l++) {
        for (uint32_t o = 0; o < graph_channels(graph_layer(&model->file, l)); o++) {
            ((float *)(void *)model_buffer(model, TINYTRAIN_FISHER, l))[o] = numbers[draw(0, most)];
        }
    }
}

/* The k channels with the largest D, found one by one, as flags. */
static void largest(const float *fisher, uint32_t channels, uint32_t k, bool *kept) {
    memset(kept, 0, channels);
    for (; k > 0; k--) {
        uint32_t best = channels;
        for (uint32_t o = 0; o < channels; o++) {
            best = !kept[o] && (best == channels || fisher[o] > fisher[best]) ? o : best;
        }
        kept[best] = true;
    }
}

/* The layers in the order of their scores, as long as both budgets last. */
static uint64_t naive_choice(const model_t *model) {
    const costs_t costs = tinytrain_costs(model);
    float scores[GRAPH_MAX_LAYERS];
    uint64_t left = tinytrain_candidates(&model->training), chosen = 0, bytes = 0;
    tinytrain_score(model, scores);
    while (left != 0) {
        uint8_t best = GRAPH_MAX_LAYERS;
        for (uint8_t l = GRAPH_MAX_LAYERS; l-- > 0;) {
            best = in_set(left, l) && (best == GRAPH_MAX_LAYERS || scores[l] > scores[best]) ? l : best;
        }
        left ^= UINT64_C(1) << best;
        const uint64_t more = bytes + tinytrain_bytes(&costs, best);
        if (more <= costs.settings->memory_budget &&
            tinytrain_work(&costs, chosen | UINT64_C(1) << best) <= tinytrain_most_work(&costs)) {
            bytes = more;
            chosen |= UINT64_C(1) << best;
        }
    }
    return chosen;
}

/* Choices with equal scores and equal channels. */
static void test_choices(void) {
    enum { ROUNDS = 200, MOST = 30 };
    graph_made_t made;
    tinytrain_made_wide(&made);
    for (int round = 0; round < ROUNDS; round++) {
        tflite8_settings_t settings = tinytrain_settings();
        settings.memory_budget = (uint32_t)draw(4000, 20000);
        settings.work_budget = (uint16_t)draw(60, 256);
        settings.channels = (uint16_t)draw(1, 256);
        if (tinytrain_refused(&made, &settings) != METHOD_TAKES_ALL) {
            continue;
        }
        graph_trainee_t trainee = graph_trainee_new(&made, &settings, draw(0, 1) == 1);
        model_t *model = &trainee.engine->model;
        draw_fisher(model);
        for (uint8_t l = 0; l < model->file.layers; l++) {
            model->gradient_factor[l] = 1.0f + (float)draw(0, 1) / 2.0f;
        }
        bool kept[GRAPH_MAX_LAYERS][MOST];
        const costs_t costs = tinytrain_costs(model);
        for (uint8_t l = 0; l < model->file.layers; l++) {
            largest((const float *)(const void *)model_buffer(model, TINYTRAIN_FISHER, l),
                    graph_channels(graph_layer(&model->file, l)), tinytrain_channels(&costs, l), kept[l]);
        }
        const uint64_t expected = naive_choice(model);
        tinytrain_choose(model);
        CHECK(model->training.updated == expected, "round %d: %llX, not %llX", round,
              (unsigned long long)model->training.updated, (unsigned long long)expected);
        for (uint8_t l = 0; l < model->file.layers; l++) {
            const kept_t found = in_set(expected, l) ? tflite8_kept(model, l) : (kept_t){.list = NULL};
            for (uint32_t o = 0, i = 0; found.list != NULL && o < graph_channels(graph_layer(&model->file, l)); o++) {
                CHECK(!kept[l][o] || (i < found.channels && found.list[i] == o), "round %d: layer %u, channel %u",
                      round, l, o);
                i += kept[l][o];
            }
        }
        graph_trainee_free(&trainee);
    }
    made_free(&made);
}

void test_tinytrain_choice(void) {
    test_costs();
    test_refusals();
    test_candidates();
    test_exact_budget();
    test_pool();
    test_memory();
    test_choices();
}
