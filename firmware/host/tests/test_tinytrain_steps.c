/* Steps of TinyTrain: those of docs/arithmetic-tinytrain.md, section 9. */
#include <string.h>

#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "tinytrain_made.h"

enum { STEPS = 3, IN_A_ROW = 5 };

/* A run of the page. Kept channels by layer, as sets of bits. */
typedef struct {
    char network;
    tflite8_settings_t settings;
    uint8_t kept[7];
    uint32_t losses[STEPS], digests[STEPS];
    uint64_t work[2]; /* of the last step: products, layer runs */
} run_t;

static step_result_t train(graph_trainee_t *trainee, uint32_t step, bool one_by_one, uint32_t digests[]) {
    const uint16_t batch = trainee->engine->model.settings.batch;
    const bool alone = batch == 1;
    step_result_t result;
    for (uint16_t b = 0; b < batch; b++) {
        tinytrain_fill(trainee, one_by_one ? 0 : b, alone ? step : b);
        if (one_by_one && !alone) {
            CHECK(engine_part(trainee->engine, step, 0, b, 1).code == 0, "a part");
        }
    }
    const failure_t failure = engine_step(trainee->engine, step, batch, &result, digests);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    CHECK(result.loss_minus == 0.0f && result.sign == 0, "the rest");
    return result;
}

/* The kept channels of a layer, as a set of bits; 0: it was not chosen. */
static uint32_t kept_of(const model_t *model, uint8_t l) {
    if (!in_set(model->training.updated, l)) {
        return 0;
    }
    const kept_t kept = tflite8_kept(model, l);
    uint32_t set = 0;
    for (uint32_t i = 0; i < kept.channels; i++) {
        set |= 1u << (kept.list != NULL ? kept.list[i] : i);
    }
    return set;
}

/* Step 0 ranks. */
static void check_first_work(const model_t *model, const run_t *run) {
    const bool inner = run->settings.blocks == 6;
    const uint64_t products = run->network == 'A' ? 4536
                              : inner             ? 8940
                                                  : 10668,
                   runs = run->network == 'A' ? 18
                          : inner             ? 39
                                              : 42;
    const uint16_t batch = run->settings.batch;
    CHECK(model->macs == products / TINYTRAIN_SAMPLES * batch && model->layer_runs == runs / TINYTRAIN_SAMPLES * batch,
          "work of a ranking step: %llu products", (unsigned long long)model->macs);
}

static void check_run(const run_t *run, const way_t *way) {
    graph_made_t made;
    tinytrain_made(&made, run->network);
    tflite8_settings_t settings = run->settings;
    settings.slots = way->one_by_one ? 1 : settings.batch;
    settings.consumed = way->consumed;
    settings.fused = way->fused;
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, way->flash);
    const model_t *model = &trainee.engine->model;
    uint32_t digests[ENGINE_MAX_TENSORS];
    for (uint32_t step = 0; step < STEPS; step++) {
        const step_result_t result = train(&trainee, step, way->one_by_one, digests);
        const uint32_t all = xxh32(digests, model_tensors(model) * sizeof digests[0], 0);
        CHECK(float32_bits(result.loss_plus) == run->losses[step], "%c, eta %a, step %u: loss %08X", run->network,
              (double)settings.eta, step, float32_bits(result.loss_plus));
        CHECK(all == run->digests[step], "%c, step %u: digest %08X, not %08X", run->network, step, all,
              run->digests[step]);
        if (step == 0) {
            check_first_work(model, run);
        }
    }
    CHECK(model->macs == run->work[0] && model->layer_runs == run->work[1], "work: %llu products, %llu runs",
          (unsigned long long)model->macs, (unsigned long long)model->layer_runs);
    for (uint8_t l = 0; l < model->file.layers; l++) {
        CHECK(kept_of(model, l) == run->kept[l], "%c: kept of layer %u: %X", run->network, l, kept_of(model, l));
    }
    graph_trainee_free(&trainee);
    made_free(&made);
}

static void with_all_ways(const run_t *run) {
    for (size_t i = 0; i < TINYTRAIN_WAYS; i++) {
        check_run(run, &tinytrain_ways[i]);
    }
}

/* Settings of the page, with budgets, share of channels and momentum. */
static tflite8_settings_t with(uint32_t memory, uint16_t work, uint16_t channels, float momentum) {
    tflite8_settings_t settings = tinytrain_settings();
    settings.memory_budget = memory;
    settings.work_budget = work;
    settings.channels = channels;
    settings.momentum = momentum;
    return settings;
}

enum { MEMORY = 1 << 20, WORK = 38, HALF = 128 };

static void test_runs_of_a(void) {
    run_t runs[] = {
        {'A',
         with(UINT32_MAX, 256, 256, 0.9f),
         {0xF, 0, 0x7},
         {0x40D8973Eu, 0x40D8973Eu, 0x40A2E19Eu},
         {0xEAE40347u, 0x7896746Fu, 0x36234733u},
         {8748, 18}},
        {'A',
         with(MEMORY, 256, HALF, 0.0f),
         {0xC, 0, 0x7},
         {0x40D8973Eu, 0x40D8973Eu, 0x40AA95FAu},
         {0xEAE40347u, 0x1271920Eu, 0x0A3AC259u},
         {6804, 18}},
        {'A',
         with(MEMORY, WORK, HALF, 0.0f),
         {0, 0, 0x7},
         {0x40D8973Eu, 0x40D8973Eu, 0x40B4A130u},
         {0xEAE40347u, 0x555ABA60u, 0x41F1EF2Fu},
         {4536, 12}},
        {'A',
         with(800, 256, HALF, 0.5f),
         {0xC, 0, 0},
         {0x40D8973Eu, 0x40D8973Eu, 0x40CFE670u},
         {0xEAE40347u, 0x94594E5Cu, 0xECCDF4ACu},
         {6480, 18}},
        {'A',
         with(MEMORY, 256, HALF, 0.5f),
         {0xC, 0, 0x7},
         {0x3EE21B77u, 0x404D8730u, 0x404763DEu},
         {0xEAE40347u, 0xEAE40347u, 0x67B47B3Du},
         {2268, 6}},
        {'A',
         with(MEMORY, 256, HALF, 0.0f),
         {0xC, 0, 0x7},
         {0x40D8973Eu, 0x40D8973Eu, 0x40D450EDu},
         {0x04555E81u, 0x5984944Fu, 0x7A876B97u},
         {4536, 18}},
    };
    runs[4].settings.batch = 1;
    runs[4].settings.ranking = 2;
    runs[5].settings.train = TRAIN_BIAS;
    runs[5].settings.eta = 0.5f;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        with_all_ways(&runs[i]);
    }
}

static void test_runs_of_b(void) {
    run_t runs[] = {
        {'B',
         with(UINT32_MAX, 256, 256, 0.9f),
         {0xF, 0xF, 0xF, 0, 0x3F, 0, 0x7},
         {0x40D6151Fu, 0x40D6151Fu, 0x402AAB3Eu},
         {0xF0BB1368u, 0xDBE67B22u, 0x54055ABFu},
         {16194, 42}},
        {'B',
         with(MEMORY, 256, HALF, 0.0f),
         {0x9, 0xF, 0xA, 0, 0x26, 0, 0x7},
         {0x40D6151Fu, 0x40D6151Fu, 0x40265312u},
         {0xF0BB1368u, 0x2FDAA8AAu, 0x31306338u},
         {14322, 42}},
        {'B',
         with(MEMORY, 128, HALF, 0.0f),
         {0, 0, 0xA, 0, 0x26, 0, 0x7},
         {0x40D6151Fu, 0x40D6151Fu, 0x402385A8u},
         {0xF0BB1368u, 0x10B11584u, 0x2CB2F77Du},
         {9906, 36}},
        {'B',
         with(MEMORY, WORK, HALF, 0.0f),
         {0, 0, 0, 0, 0x26, 0, 0x7},
         {0x40D6151Fu, 0x40D6151Fu, 0x4022BAEDu},
         {0xF0BB1368u, 0xE9DD222Bu, 0xE74700BCu},
         {6930, 30}},
        {'B',
         with(400, 256, 64, 0.9f),
         {0x1, 0, 0x2, 0, 0, 0, 0x7},
         {0x40D6151Fu, 0x40D6151Fu, 0x4027D586u},
         {0xF0BB1368u, 0xB7D7AD3Fu, 0xDB10AD9Eu},
         {11010, 42}},
        {'B',
         with(MEMORY, 100, HALF, 0.0f),
         {0, 0, 0xA, 0, 0, 0, 0x7},
         {0x40D6151Fu, 0x40D6151Fu, 0x4064A619u},
         {0xF0BB1368u, 0xCED53241u, 0x4D151427u},
         {8610, 36}},
        {'B',
         with(MEMORY, 256, HALF, 0.0f),
         {0, 0xF, 0xA, 0, 0x26, 0, 0},
         {0x40D6151Fu, 0x40D6151Fu, 0x40B1C1DAu},
         {0xD40E904Eu, 0x4CFA1C72u, 0x5D95E677u},
         {12348, 39}},
        {'B',
         with(MEMORY, 200, 1, 0.0f),
         {0x1, 0xF, 0x2, 0, 0x4, 0, 0x7},
         {0x40D6151Fu, 0x40D6151Fu, 0x40D6151Fu},
         {0xF0BB1368u, 0xF0BB1368u, 0x011C5314u},
         {13170, 42}},
    };
    runs[5].settings.qas = 0;
    runs[5].settings.eta = 300.0f;
    runs[6].settings.blocks = 6;
    runs[6].settings.train_bias = 0;
    runs[7].settings.ranking = 2;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        with_all_ways(&runs[i]);
    }
}

/* B2: the digests of all tensors after each step. */
static void test_tensors(void) {
    static const uint32_t expected[STEPS][10] = {{0x14329051u, 0x7012A0A7u, 0x7FCDBEDAu, 0x33F7A8C8u, 0xF7FB6ED9u,
                                                  0x2B1180D6u, 0xD0A215BAu, 0x49DAF0CEu, 0xB1E8C9B8u, 0xF3BFF7F7u},
                                                 {0x5A83C79Du, 0x812E631Bu, 0xAC0B060Eu, 0x50B7A7FEu, 0xCB8D2B67u,
                                                  0x7A15515Du, 0x4B3FBF7Du, 0xFCD42424u, 0xE783E664u, 0xA177CABEu},
                                                 {0x72ACFC20u, 0x896434DEu, 0x1A0E756Bu, 0xB621CC6Bu, 0x36E02E55u,
                                                  0x6F56BD1Au, 0xC85D3F03u, 0x2CAB4749u, 0xA3881189u, 0xCF3EBE78u}};
    graph_made_t made;
    tinytrain_made(&made, 'B');
    const tflite8_settings_t settings = with(MEMORY, 256, HALF, 0.0f);
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, true);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t digests[ENGINE_MAX_TENSORS];
        (void)train(&trainee, step, false, digests);
        for (uint32_t i = 0; i < 10; i++) {
            CHECK(digests[i] == expected[step][i], "step %u, tensor %u: %08X", step, i, digests[i]);
        }
    }
    graph_trainee_free(&trainee);
    made_free(&made);
}

/* A2: layer 0 after each step. */
static void test_weights(void) {
    static const int8_t fixed[18] = {-121, -84, -47, -10, 27,  64,   101, -115, -78,
                                     -41,  -4,  33,  70,  107, -109, -72, -35,  2};
    static const int8_t moved[STEPS][18] = {
        {39, 76, 113, -103, -66, -29, 8, 45, 82, 119, -97, -60, -23, 14, 51, 88, 125, -91},
        {35, 71, 114, -104, -63, -29, 8, 44, 79, 114, -99, -62, -25, 15, 54, 87, 121, -89},
        {32, 68, 118, -106, -59, -28, 8, 44, 76, 108, -103, -65, -29, 14, 55, 83, 117, -87}};
    static const int32_t bias[STEPS][4] = {{0, 1536, 512, -512}, {0, 1536, 179, -206}, {0, 1536, 222, -1093}};
    graph_made_t made;
    tinytrain_made(&made, 'A');
    const tflite8_settings_t settings = with(MEMORY, 256, HALF, 0.0f);
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, false);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t digests[ENGINE_MAX_TENSORS];
        (void)train(&trainee, step, false, digests);
        const tensors_t tensors = tflite8_tensors(&trainee.engine->model, 0);
        check_s8(tensors.weights, fixed, 18, "channels 0 and 1");
        check_s8(tensors.weights + 18, moved[step], 18, "channels 2 and 3");
        check_s32(tensors.bias, bias[step], 4, "biases");
    }
    graph_trainee_free(&trainee);
    made_free(&made);
}

/* Settings that do not follow a schedule rank anew; a run counts its steps as steps. */
static void test_again(void) {
    graph_made_t made;
    tinytrain_made(&made, 'B');
    tflite8_settings_t settings = with(MEMORY, 256, HALF, 0.9f);
    settings.ranking = 2;
    graph_trainee_t one = graph_trainee_new(&made, &settings, true), all = graph_trainee_new(&made, &settings, true);
    uint32_t digests[ENGINE_MAX_TENSORS], found[ENGINE_MAX_TENSORS];
    step_result_t result;
    for (uint32_t step = 0; step < IN_A_ROW; step++) {
        (void)train(&one, step, false, digests);
    }
    for (uint16_t b = 0; b < TINYTRAIN_SAMPLES; b++) {
        tinytrain_fill(&all, b, b);
    }
    CHECK(engine_check_run(all.engine, 0, IN_A_ROW, TINYTRAIN_SAMPLES).code == 0, "a run");
    engine_run(all.engine, IN_A_ROW, TINYTRAIN_SAMPLES, &result);
    engine_report(all.engine, &result, found);
    CHECK(memcmp(found, digests, 10 * sizeof found[0]) == 0, "a run is its steps");
    settings.first_step = IN_A_ROW;
    settings.seed++;
    CHECK(graph_trainee_configure(&one, &settings).code == 0, "again");
    for (uint32_t step = 0; step < 3; step++) {
        (void)train(&one, IN_A_ROW + step, false, found);
        CHECK((memcmp(found, digests, 10 * sizeof found[0]) == 0) == (step < 2), "step %u after it", step);
    }
    graph_trainee_free(&one);
    graph_trainee_free(&all);
    made_free(&made);
}

void test_tinytrain_steps(void) {
    test_runs_of_a();
    test_runs_of_b();
    test_tensors();
    test_weights();
    test_again();
}
