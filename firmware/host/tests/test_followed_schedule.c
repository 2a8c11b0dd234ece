/* Settings that follow the schedule, and those that begin anew: docs/link.md, requests of a trial. */
#include <stddef.h>
#include <string.h>

#include "check.h"
#include "engine_fixture.h"
#include "fqt_trainee.h"
#include "graph_trainee.h"
#include "methods/fqt.h"
#include "tinytrain_made.h"
#include "trainer/registry.h"

enum { BEFORE = 2, AFTER = 2, ROOM = 1 << 16 };

typedef union {
    settings_t common;
    tflite8_settings_t tflite8;
    fqt_settings_t fqt;
} any_settings_t;

/* A method that keeps state beside the weights. */
typedef struct {
    void (*network)(graph_made_t *made);
    any_settings_t settings;
    float (*state)(const model_t *model); /* 0: it is that of a beginning */
} state_case_t;

static void network_of_tflite8(graph_made_t *made) {
    tinytrain_made(made, 'A');
}

static void network_of_affine8(graph_made_t *made) {
    affine8_network(made, 'A', false, 0);
}

static float largest(const int8_t *buffer, uint32_t n) {
    float most = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        const float x = ((const float *)(const void *)buffer)[i], size = x < 0.0f ? -x : x;
        most = size > most ? size : most;
    }
    return most;
}

static float velocity_of(const model_t *model) {
    float most = 0.0f;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (in_set(model->training.layers, l)) {
            const kept_t kept = tflite8_kept(model, l);
            const float of = largest((const int8_t *)(const void *)kept.velocity, kept.weights + kept.biases);
            most = of > most ? of : most;
        }
    }
    return most;
}

/* The number of chosen layers; before, what was ranked. */
static float choice_of(const model_t *model) {
    float most = (float)__builtin_popcountll(model->training.updated);
    for (uint8_t l = 0; l < model->file.layers && most == 0.0f; l++) {
        if (in_set(tinytrain_candidates(&model->training), l)) {
            most = largest(model_buffer(model, TINYTRAIN_FISHER, l), graph_channels(graph_layer(&model->file, l)));
        }
    }
    return most;
}

static float samples_of(const model_t *model) {
    return model->kept[FQT_LARGEST_LOSS] + (float)fqt_statistics(model, 0)[0].n;
}

/* Also m, v and p1. */
static float moments_of(const model_t *model) {
    const uint32_t n = (uint32_t)fqt_optimizer_bytes(model, model->file.layers) / sizeof(float);
    return samples_of(model) + largest((const int8_t *)fqt_optimizer(model, 0).first, n) + 1.0f -
           model->kept[FQT_POWER_1];
}

enum { BP, TINYTRAIN, FQT, FQT_ADAM, CASES };

static state_case_t case_of(int which) {
    state_case_t of = {.network = network_of_tflite8, .settings.tflite8 = tinytrain_settings(), .state = choice_of};
    of.settings.tflite8.momentum = 0.5f;
    if (which == BP) {
        of.settings.tflite8.method = METHOD_BP;
        of.state = velocity_of;
    } else if (which >= FQT) {
        of = (state_case_t){.network = network_of_affine8, .settings.fqt = fqt_defaults(), .state = samples_of};
    }
    if (which == FQT_ADAM) {
        of.settings.fqt.optimizer = OPTIMIZER_ADAM;
        of.settings.fqt.standardise = STANDARDISE_ACCUMULATED;
        of.state = moments_of;
    }
    return of;
}

static uint32_t no_cycles(void) {
    return 0;
}

static graph_trainee_t begun(const state_case_t *of, graph_made_t *made) {
    graph_trainee_t trainee = {.engine = take(sizeof *trainee.engine), .arena = take(ROOM)};
    of->network(made);
    engine_init(trainee.engine, registry_formats, trainee.arena, ROOM, no_cycles);
    expect_fine(engine_load_begin(trainee.engine, made->size), "load_begin");
    expect_fine(engine_load_data(trainee.engine, 0, made->bytes, made->size), "load_data");
    expect_fine(engine_load_end(trainee.engine), "load_end");
    return trainee;
}

static void configure(graph_trainee_t *trainee, const any_settings_t *settings) {
    const method_t *method = registry_method(settings->common.method);
    const uint32_t before = trainee->planned;
    expect_fine(engine_configure(trainee->engine, method, settings, &trainee->planned), "configure");
    CHECK(before == 0 || trainee->planned == before, "%u bytes, not %u", trainee->planned, before);
}

static uint32_t steps(graph_trainee_t *trainee, uint32_t first, uint32_t count) {
    uint32_t digest = 0;
    for (uint32_t step = first; step < first + count; step++) {
        step_result_t result;
        const uint16_t batch = trainee->engine->model.settings.batch;
        digest = digest * 31u + graph_trainee_step(trainee, step, batch, batch, &result);
    }
    return digest;
}

static void end(graph_trainee_t *trainee, graph_made_t *made) {
    graph_trainee_free(trainee);
    made_free(made);
}

static float *eta_of(any_settings_t *settings) {
    return settings->common.method == METHOD_FQT ? &settings->fqt.eta : &settings->tflite8.eta;
}

/* What is wrong with settings that would follow. */
enum { NOTHING, LATER_STEP, FIRST_STEP_AGAIN, HALF_A_STEP, WRITTEN, OTHER_SETTING, REASONS };

static void break_rule(graph_trainee_t *trainee, any_settings_t *settings, int reason) {
    uint8_t byte;
    switch (reason) {
    case LATER_STEP: settings->common.first_step = BEFORE + 1; break;
    case FIRST_STEP_AGAIN: settings->common.first_step = 0; break;
    case HALF_A_STEP:
        graph_trainee_fill(trainee, 0, 1);
        expect_fine(engine_part(trainee->engine, BEFORE, 0, 0, 1), "a part");
        break;
    case WRITTEN: /* though it is what was there */
        expect_fine(engine_read_tensor(trainee->engine, 0, 0, 1, &byte), "read");
        expect_fine(engine_write_tensor(trainee->engine, 0, 0, 1, &byte), "write");
        break;
    case OTHER_SETTING: settings->common.seed++; break;
    default: break;
    }
}

/* Each condition alone; also after settings that did follow. */
static void test_conditions(void) {
    for (int i = 0; i < 2 * CASES * REASONS; i++) {
        const int reason = i / 2 % REASONS;
        const state_case_t of = case_of(i / 2 / REASONS);
        any_settings_t settings = of.settings;
        graph_made_t made;
        graph_trainee_t trainee = begun(&of, &made);
        const model_t *model = &trainee.engine->model;
        configure(&trainee, &settings);
        CHECK(of.state(model) == 0.0f, "%d: a beginning", i);
        (void)steps(&trainee, 0, BEFORE);
        settings.common.first_step = BEFORE;
        *eta_of(&settings) *= 0.5f;
        if (i % 2 == 1) {
            configure(&trainee, &settings);
        }
        const float state = of.state(model);
        CHECK(state != 0.0f, "%d: steps leave state", i);
        break_rule(&trainee, &settings, reason);
        configure(&trainee, &settings);
        CHECK(of.state(model) == (reason == NOTHING ? state : 0.0f), "%d: the state is %a", i, (double)of.state(model));
        CHECK(model->settings.first_step == (reason == NOTHING ? 0 : settings.common.first_step), "%d: first_step", i);
        CHECK(*eta_of((any_settings_t *)(void *)(uintptr_t)&model->settings) == *eta_of(&settings), "%d: eta", i);
        (void)steps(&trainee, settings.common.first_step++, 1);
        const float later = of.state(model);
        configure(&trainee, &settings);
        CHECK(later != 0.0f && of.state(model) == later, "%d: the settings of a beginning may be followed, too", i);
        end(&trainee, &made);
    }
}

/* Two steps, another eta, two steps: by `configure`; by another number where the engine keeps eta; and beginning anew,
   which gives something else. */
static void test_goes_on(void) {
    enum { FOLLOWED, CHANGED_INSIDE, ANEW, WAYS };
    for (int which = 0; which < CASES; which++) {
        const state_case_t of = case_of(which);
        uint32_t digest[WAYS];
        for (int way = 0; way < WAYS; way++) {
            any_settings_t settings = of.settings;
            graph_made_t made;
            graph_trainee_t trainee = begun(&of, &made);
            configure(&trainee, &settings);
            (void)steps(&trainee, 0, BEFORE);
            settings.common.first_step = BEFORE;
            settings.common.seed += way == ANEW;
            *eta_of(&settings) *= 0.25f;
            if (way == CHANGED_INSIDE) {
                *eta_of((any_settings_t *)(void *)&trainee.engine->model.settings) = *eta_of(&settings);
            } else {
                configure(&trainee, &settings);
            }
            digest[way] = steps(&trainee, BEFORE, AFTER);
            end(&trainee, &made);
        }
        CHECK(digest[FOLLOWED] == digest[CHANGED_INSIDE] && digest[FOLLOWED] != digest[ANEW], "case %d", which);
    }
}

/* By hand: with the same weights and samples, V that begins at 0 is the new share of V; what goes on has
   `momentum` times the old V beside it, and moves by that. */
static void test_velocity_by_hand(void) {
    const state_case_t of = case_of(BP);
    any_settings_t settings = of.settings;
    graph_made_t made, again;
    graph_trainee_t trainee = begun(&of, &made), fresh = begun(&of, &again);
    model_t *model = &trainee.engine->model;
    float before[64], share[64];
    int8_t weights[64];
    configure(&trainee, &settings);
    (void)steps(&trainee, 0, BEFORE);
    settings.common.first_step = BEFORE;
    *eta_of(&settings) *= 0.25f;
    configure(&trainee, &settings);
    configure(&fresh, &settings);
    for (uint8_t i = 0; i < model_tensors(model); i++) {
        const trained_tensor_t tensor = model_tensor(model, i);
        expect_fine(engine_write_tensor(fresh.engine, i, 0, tensor.size, tensor.bytes), "write");
    }
    const uint32_t n = tflite8_kept(model, 0).weights; /* 36 of the first layer */
    memcpy(before, tflite8_kept(model, 0).velocity, n * sizeof before[0]);
    memcpy(weights, model_weights(model, 0), n);
    (void)steps(&trainee, BEFORE, 1);
    (void)steps(&fresh, BEFORE, 1);
    memcpy(share, tflite8_kept(&fresh.engine->model, 0).velocity, n * sizeof share[0]);
    for (uint32_t i = 0; i < n; i++) {
        const float kept = 0.5f * before[i], wanted = kept + share[i];
        const int32_t to = weights[i] - (int32_t)__builtin_nearbyintf(wanted);
        CHECK(tflite8_kept(model, 0).velocity[i] == wanted, "velocity %u", i);
        CHECK(model_weights(model, 0)[i] == (to > 126 ? 126 : to < -126 ? -126 : to), "weight %u", i);
    }
    settings.common.first_step++; /* the weights of `fresh` were written, but a step came after */
    configure(&fresh, &settings);
    CHECK(memcmp(tflite8_kept(&fresh.engine->model, 0).velocity, share, n * sizeof share[0]) == 0, "a step after it");
    end(&trainee, &made);
    end(&fresh, &again);
}

/* The ranking counts from the first `configure`, and what it has found stays. */
static void test_ranking_goes_on(void) {
    const state_case_t of = case_of(TINYTRAIN);
    float fisher[2][8] = {{0}};
    for (int way = 0; way < 2; way++) {
        any_settings_t settings = of.settings;
        graph_made_t made;
        graph_trainee_t trainee = begun(&of, &made);
        const model_t *model = &trainee.engine->model;
        settings.tflite8.ranking = BEFORE;
        settings.tflite8.channels = settings.tflite8.work_budget = 256; /* no list over D */
        configure(&trainee, &settings);
        (void)steps(&trainee, 0, BEFORE - 1);
        settings.common.first_step = BEFORE - 1;
        *eta_of(&settings) *= 0.25f;
        if (way == 1) {
            configure(&trainee, &settings);
        }
        CHECK(model->training.updated == 0, "it ranks");
        (void)steps(&trainee, BEFORE - 1, 1);
        CHECK(model->training.updated != 0, "it has chosen after %d steps", BEFORE);
        memcpy(fisher[way], model_buffer(model, TINYTRAIN_FISHER, 0), 4 * sizeof fisher[way][0]);
        end(&trainee, &made);
    }
    CHECK(memcmp(fisher[0], fisher[1], sizeof fisher[0]) == 0, "eta has no part in D");
}

void test_followed_schedule(void) {
    test_conditions();
    test_goes_on();
    test_velocity_by_hand();
    test_ranking_goes_on();
}
