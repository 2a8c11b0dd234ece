/* The channels that FQT keeps, and so its work: docs/arithmetic-fqt.md, sections 4, 10 and 13. */
#include <string.h>

#include "arith/float32.h"
#include "check.h"
#include "fqt_trainee.h"
#include "methods/fqt.h"

/* The table of section 13. */
static void test_share(void) {
    static const struct {
        float loss, largest, least, most;
        uint8_t rate, channels;
        uint32_t share, count;
    } rows[] = {{0.5f, 2.0f, 0.1f, 1.0f, RATE_RATIO, 10, 0x3EA66666, 3},
                {0.5f, 2.0f, 0.1f, 1.0f, RATE_RATIO, 8, 0x3EA66666, 2},
                {0.0f, 2.0f, 0.1f, 1.0f, RATE_RATIO, 9, 0x3DCCCCCD, 1},
                {0.5f, 2.0f, 0.7f, 0.7f, RATE_RATIO, 10, 0x3F333333, 7},
                {0.5f, 2.0f, 0.1f, 1.0f, RATE_DIFFERENCE, 10, 0x3F800000, 10},
                {1.9f, 2.0f, 0.1f, 1.0f, RATE_DIFFERENCE, 30, 0x3E428F5E, 5},
                {0.0f, 0.0f, 0.1f, 1.0f, RATE_RATIO, 10, 0x3DCCCCCD, 1}};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fqt_settings_t settings = {.lambda_min = rows[i].least, .lambda_max = rows[i].most, .rate = rows[i].rate};
        const float share = fqt_share(&settings, rows[i].loss, rows[i].largest);
        CHECK(float32_bits(share) == rows[i].share && fqt_count(share, rows[i].channels) == rows[i].count,
              "row %u: %08X, %u", i, float32_bits(share), fqt_count(share, rows[i].channels));
    }
}

static void test_select(void) {
    static const uint32_t norms[] = {5, 9, 9, 0, 7};
    static const uint16_t kept[3][3] = {{1}, {1, 2}, {1, 2, 4}};
    uint16_t found[40];
    for (uint32_t k = 1; k <= 3; k++) {
        fqt_select(norms, 5, k, found);
        CHECK(memcmp(found, kept[k - 1], k * sizeof found[0]) == 0, "%u of five", k);
    }
    for (uint32_t round = 0; round < 2000; round++) {
        uint32_t drawn[40];
        const uint32_t n = (uint32_t)draw(1, 40), count = (uint32_t)draw(1, (int32_t)n);
        const int32_t most = draw(0, 1) == 0 ? 3 : INT32_MAX;
        for (uint32_t i = 0; i < n; i++) {
            drawn[i] = (uint32_t)draw(0, most) << draw(0, 1);
        }
        fqt_select(drawn, n, count, found);
        uint32_t next = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t before = 0; /* channels that come before this one */
            for (uint32_t j = 0; j < n; j++) {
                before += drawn[j] > drawn[i] || (drawn[j] == drawn[i] && j < i);
            }
            if (before < count) {
                CHECK(next < count && found[next++] == i, "channel %u of %u", i, n);
            }
        }
    }
}

/* Which channels of a layer some sample of the step kept. */
static uint32_t kept_of(const fqt_trainee_t *trainee, uint8_t l) {
    return *(const uint8_t *)model_buffer(&trainee->engine->model, FQT_KEPT, l);
}

static void test_kept_of_a(void) {
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    settings.lambda_min = 0.1f;
    settings.sparse_head = 1;
    settings.slots = 1;
    affine8_network(&made, 'A', false, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    fqt_fill(&trainee, 0, 1);
    CHECK(engine_part(trainee.engine, 0, 0, 0, 1).code == 0, "a part");
    CHECK(kept_of(&trainee, 0) == 3 && kept_of(&trainee, 2) == 7, "the first sample has the largest loss");
    fqt_fill(&trainee, 1, 1);
    CHECK(engine_part(trainee.engine, 0, 0, 1, 1).code == 0, "a part");
    CHECK(kept_of(&trainee, 0) == 3 && kept_of(&trainee, 2) == 7, "those of both");
    fqt_trainee_free(&trainee);
    settings.lambda_max = 0.8f;
    trainee = fqt_trainee_new(&made, &settings, false);
    for (uint32_t step = 0; step < 2; step++) {
        step_result_t result;
        uint32_t digests[4];
        fqt_fill(&trainee, 0, 1);
        CHECK(engine_part(trainee.engine, step, 0, 0, 1).code == 0, "a part");
        CHECK(kept_of(&trainee, 0) == 1 && kept_of(&trainee, 2) == 5, "sample 0: 0, and 0 2");
        fqt_fill(&trainee, 1, 1);
        CHECK(engine_part(trainee.engine, step, 0, 1, 1).code == 0, "a part");
        CHECK(kept_of(&trainee, 0) == 3 && kept_of(&trainee, 2) == 7, "sample 1: 1, and 1");
        CHECK(engine_step(trainee.engine, step, 2, &result, digests).code == 0, "a step");
    }
    fqt_trainee_free(&trainee);
    made_free(&made);
}

static void test_kept_of_b(bool in_float32) {
    static const uint8_t layers[] = {0, 2, 4, 5, 7, 9};
    static const uint8_t kept[2][2][6] = {{{1, 2, 1, 2, 3, 0}, {1, 2, 1, 2, 3, 1}},
                                          {{1, 2, 1, 2, 1, 0}, {0, 2, 1, 2, 3, 1}}};
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    settings.lambda_min = settings.lambda_max = 0.4f;
    settings.slots = 1;
    affine8_network(&made, 'B', in_float32, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    for (uint32_t step = 0; step < 2; step++) {
        step_result_t result;
        uint32_t digests[24], seen[6] = {0};
        for (uint16_t sample = 0; sample < 2; sample++) {
            fqt_fill(&trainee, sample, 1);
            CHECK(engine_part(trainee.engine, step, 0, sample, 1).code == 0, "a part");
            for (uint32_t i = 0; i < 6; i++) {
                seen[i] |= 1u << kept[step][sample][i];
                CHECK(kept_of(&trainee, layers[i]) == seen[i], "step %u, sample %u, layer %u: %u", step, sample,
                      layers[i], kept_of(&trainee, layers[i]));
            }
            CHECK(kept_of(&trainee, 11) == 7, "the head keeps all");
        }
        CHECK(engine_step(trainee.engine, step, 2, &result, digests).code == 0, "a step");
    }
    fqt_trainee_free(&trainee);
    made_free(&made);
}

/* Products and layer runs of two samples. A: 648 + 54 forward; 54 + 54 + 648 back. B with one channel a layer: 1,417
   forward; 18, 288, 128, 4, 8, 288 and 32 back. */
static void test_work(void) {
    static const struct {
        char network;
        float share;
        uint64_t products, runs;
    } rows[] = {{'A', 1.0f, 2 * 1458, 2 * 6}, {'B', 0.4f, 2 * (1417 + 766), 2 * 24}};
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t in_float32 = 0; in_float32 < 2; in_float32++) {
            graph_made_t made;
            step_result_t result;
            uint32_t digests[24];
            fqt_settings_t settings = fqt_defaults();
            settings.lambda_min = settings.lambda_max = rows[i].share;
            affine8_network(&made, rows[i].network, in_float32 != 0, 0);
            fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
            fqt_fill(&trainee, 0, 2);
            CHECK(engine_step(trainee.engine, 0, 2, &result, digests).code == 0, "a step");
            CHECK(trainee.engine->model.macs == rows[i].products && trainee.engine->model.layer_runs == rows[i].runs,
                  "%c: %llu products, %llu runs", rows[i].network, (unsigned long long)trainee.engine->model.macs,
                  (unsigned long long)trainee.engine->model.layer_runs);
            fqt_trainee_free(&trainee);
            made_free(&made);
        }
    }
}

void test_fqt_channels(void) {
    test_share();
    test_select();
    test_kept_of_a();
    test_kept_of_b(false);
    test_kept_of_b(true);
    test_work();
}
