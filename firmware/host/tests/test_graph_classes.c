/* More classes than a byte counts: labels and predictions of two bytes. */
#include <string.h>

#include "check.h"
#include "graph_trainee.h"

enum { PIXELS = 4 };

/* fc alone, whose class `wins` has the largest bias. */
static void make(graph_made_t *made, uint16_t classes, uint16_t wins) {
    made_begin(made, 2, 2, 1, classes);
    made_fully_connected(made, 0, classes);
    made->output[0].act_min = -128;
    made->output[0].act_max = 127;
    made->output[0].zero = -100;
    made_finish(made, 0);
    int32_t *words = (int32_t *)(void *)(made->bytes + made_record(made, 0)->parameters_offset + 8);
    for (uint32_t o = 0; o < classes; o++) {
        words[o] = o == wins ? 1 << 20 : 0;
        words[classes + o] = 1 << 30;
        ((int8_t *)(words + 4u * classes))[o] = -12;
    }
    made_seal(made);
}

static void put(graph_trainee_t *trainee, uint16_t slot, uint16_t label) {
    const uint8_t pixels[PIXELS] = {1, 2, 3, 4};
    CHECK(engine_put_sample(trainee->engine, slot, label, pixels, PIXELS).code == 0, "label %u", label);
}

static void check_predictions(uint16_t classes, uint16_t wins) {
    tflite8_settings_t settings = trainee_settings();
    settings.batch = settings.slots = 3;
    graph_made_t made;
    make(&made, classes, wins);
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, true);
    const uint32_t bytes = classes > 256 ? 2 : 1;
    uint8_t *at = take(3 * bytes + 1), *predictions = at + 1; /* at an odd address, as in a reply */
    infer_result_t result = {.predictions = predictions};
    put(&trainee, 0, wins);
    put(&trainee, 1, (uint16_t)(wins - 256u) < classes ? (uint16_t)(wins - 256) : 0); /* the same byte of two */
    put(&trainee, 2, (uint16_t)(classes - 1));
    CHECK(engine_infer(trainee.engine, 3, &result).code == 0, "infer");
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t found = bytes == 1 ? predictions[i] : predictions[2 * i] + 256u * predictions[2 * i + 1];
        CHECK(found == wins, "%u classes: %u, not %u", classes, found, wins);
    }
    CHECK(result.correct == (wins == classes - 1 ? 2 : 1), "%u correct", result.correct);
    free(at);
    graph_trainee_free(&trainee);
    made_free(&made);
}

static void check_refused(uint16_t classes) {
    const tflite8_settings_t settings = trainee_settings();
    const uint8_t pixels[PIXELS] = {0};
    graph_made_t made;
    make(&made, classes, 0);
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, true);
    failure_t failure = engine_put_sample(trainee.engine, 0, classes, pixels, PIXELS);
    CHECK(failure.code == FAILURE_BAD_SLOT && failure.a == classes && failure.b == classes, "a label too large");
    failure = engine_put_part(trainee.engine, 0, UINT16_MAX, 0, pixels, 2);
    CHECK(failure.code == FAILURE_BAD_SLOT && failure.a == UINT16_MAX && failure.b == classes, "no label");
    failure = engine_put_sample(trainee.engine, 1, classes, pixels, PIXELS);
    CHECK(failure.code == FAILURE_BAD_SLOT && failure.a == 1 && failure.b == 1, "a slot too large comes first");
    graph_trainee_free(&trainee);
    made_free(&made);
}

/* Each step makes the class of the label likelier, if it is beyond a byte too. */
static void check_training(uint8_t method) {
    graph_made_t made;
    make(&made, 1024, 5);
    tflite8_settings_t settings = trainee_settings();
    settings.method = method;
    settings.eta = 100.0f;
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, true);
    float first = 0.0f, last = 0.0f;
    for (uint32_t step = 0; step < 20; step++) {
        step_result_t result;
        uint32_t digests[ENGINE_MAX_TENSORS];
        put(&trainee, 0, 1000);
        CHECK(engine_step(trainee.engine, step, 1, &result, digests).code == 0, "a step");
        first = step == 0 ? result.loss_plus : first;
        last = result.loss_plus;
    }
    CHECK(last < first, "the loss of class 1000 was %g and is %g", (double)first, (double)last);
    graph_trainee_free(&trainee);
    made_free(&made);
}

void test_graph_classes(void) {
    static const uint16_t counts[] = {2, 255, 256, 257, 300, 1024};
    for (uint32_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        check_predictions(counts[i], (uint16_t)(counts[i] - 1));
        check_predictions(counts[i], 1);
        check_refused(counts[i]);
    }
    check_training(METHOD_BP);
}
