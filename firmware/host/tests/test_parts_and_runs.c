/* Batches larger than the slots, and steps without a word between them: the same weights by every way, and what is
   refused. */
#include <string.h>

#include "arith/float32.h"
#include "check.h"
#include "engine_fixture.h"
#include "trainee.h"

static uint32_t no_cycles(void) {
    return 0;
}

static void check_same(const trained_t *one, const trained_t *other, uint8_t tensors, const char *what) {
    const step_result_t *found = &one->result, *expected = &other->result;
    CHECK(memcmp(one->digests, other->digests, tensors * sizeof one->digests[0]) == 0, "%s: other weights", what);
    CHECK(found->step == expected->step && found->sign == expected->sign, "%s: sign %d, not %d", what, found->sign,
          expected->sign);
    CHECK(float32_bits(found->loss_plus) == float32_bits(expected->loss_plus) &&
              float32_bits(found->loss_minus) == float32_bits(expected->loss_minus),
          "%s: losses %a, %a, not %a, %a", what, (double)found->loss_plus, (double)found->loss_minus,
          (double)expected->loss_plus, (double)expected->loss_minus);
}

/* The same batches to a board that holds them and to one that does not. */
static void test_streaming(void) {
    for (int round = 0; round < 100; round++) {
        graph_made_t file;
        chain_small(&file);
        elasticzo_settings_t settings = draw_settings((uint8_t)(round % 5));
        settings.scope = SCOPE_SAMPLE;
        settings.batch = (uint16_t)draw(2, 9);
        settings.slots = settings.batch;
        trainee_t whole = trainee_begin(&file, &settings, no_cycles);
        settings.slots = (uint16_t)draw(1, settings.batch - 1);
        trainee_t streaming = trainee_begin(&file, &settings, no_cycles);
        CHECK(streaming.planned < whole.planned, "fewer slots take less memory");
        for (uint32_t i = 0; i < 3; i++) {
            batch_t batch = draw_batch(&whole.engine->model.file, (uint32_t)draw(1, settings.batch));
            const trained_t expected = step_at_once(whole.engine, settings.first_step + i, &batch);
            const trained_t found = step_in_parts(streaming.engine, settings.first_step + i, &batch);
            check_same(&found, &expected, 4, "in parts");
            free_batch(&batch);
        }
        trainee_end(&whole);
        trainee_end(&streaming);
        made_free(&file);
    }
}

static trained_t run(engine_t *engine, uint32_t step, uint16_t steps, const batch_t *batch) {
    trained_t trained;
    put_samples(engine, batch, 0, batch->count);
    expect(engine_check_run(engine, step, steps, (uint16_t)batch->count), 0, 0, 0, "check_run");
    engine_run(engine, steps, (uint16_t)batch->count, &trained.result);
    engine_report(engine, &trained.result, trained.digests);
    return trained;
}

/* A run of n steps is n steps on the same samples. */
static void test_run(void) {
    for (int round = 0; round < 100; round++) {
        graph_made_t file;
        chain_small(&file);
        elasticzo_settings_t settings = draw_settings((uint8_t)(round % 5));
        settings.slots = settings.batch;
        trainee_t stepping = trainee_begin(&file, &settings, no_cycles),
                  running = trainee_begin(&file, &settings, no_cycles);
        batch_t batch = draw_batch(&stepping.engine->model.file, (uint32_t)draw(1, settings.batch));
        const uint16_t steps = (uint16_t)draw(1, 6);
        trained_t expected = {.result = {.step = 0}};
        for (uint32_t i = 0; i < steps; i++) {
            expected = step_at_once(stepping.engine, settings.first_step + i, &batch);
        }
        const trained_t found = run(running.engine, settings.first_step, steps, &batch);
        check_same(&found, &expected, 4, "in a run");
        const trained_t next = step_at_once(running.engine, settings.first_step + steps, &batch);
        expected = step_at_once(stepping.engine, settings.first_step + steps, &batch);
        check_same(&next, &expected, 4, "a step behind a run");
        free_batch(&batch);
        trainee_end(&stepping);
        trainee_end(&running);
        made_free(&file);
    }
}

/* An engine with the small network, and a batch for it. */
typedef struct {
    graph_made_t file;
    trainee_t trainee;
    engine_t *engine;
    batch_t batch;
} streaming_t;

static streaming_t begin(uint8_t partition, uint8_t scope, uint16_t slots) {
    const elasticzo_settings_t settings = {.partition = partition,
                                           .b_zo = 1,
                                           .b_bp = 5,
                                           .p_zero = 84,
                                           .r_max = 31,
                                           .scope = scope,
                                           .batch = 5,
                                           .seed = 9,
                                           .slots = slots,
                                           .first_step = 70};
    streaming_t streaming;
    chain_small(&streaming.file);
    streaming.trainee = trainee_begin(&streaming.file, &settings, no_cycles);
    streaming.engine = streaming.trainee.engine;
    streaming.batch = draw_batch(&streaming.engine->model.file, settings.batch);
    return streaming;
}

static void end(streaming_t *streaming) {
    free_batch(&streaming->batch);
    trainee_end(&streaming->trainee);
    made_free(&streaming->file);
}

static failure_t part(streaming_t *streaming, uint8_t pass, uint16_t first, uint16_t count) {
    return engine_part(streaming->engine, 70, pass, first, count);
}

static failure_t finish(streaming_t *streaming, uint32_t step, uint16_t count) {
    trained_t trained;
    return engine_step(streaming->engine, step, count, &trained.result, trained.digests);
}

static void take_part(streaming_t *streaming, uint8_t pass, uint16_t first, uint16_t count) {
    put_samples(streaming->engine, &streaming->batch, first, count);
    expect(part(streaming, pass, first, count), 0, 0, 0, "a part in its place");
}

/* The places where a part may not be, one after the other through a step of two passes with five samples, three of them
   held. */
static void test_order_of_parts(void) {
    streaming_t s = begin(2, SCOPE_SAMPLE, 3);
    put_samples(s.engine, &s.batch, 0, 3);
    expect(engine_part(s.engine, 71, 0, 0, 3), FAILURE_OUT_OF_ORDER, 71, 70, "a step ahead");
    expect(part(&s, 0, 0, 0), FAILURE_BAD_SLOT, 0, 3, "no samples");
    expect(part(&s, 0, 0, 4), FAILURE_BAD_SLOT, 4, 3, "more than the slots");
    expect(part(&s, 2, 0, 3), FAILURE_BAD_SLOT, 2, 2, "no such pass");
    expect(part(&s, 1, 0, 3), FAILURE_PARTS_MISSING, 0, 5, "minus before plus");
    expect(part(&s, 0, 1, 3), FAILURE_OUT_OF_ORDER, 1, 0, "not from the first sample");
    take_part(&s, 0, 0, 3);
    expect(part(&s, 0, 3, 1), FAILURE_SLOTS_EMPTY, 0, 1, "a part takes its samples");
    put_samples(s.engine, &s.batch, 0, 3);
    expect(part(&s, 0, 0, 3), FAILURE_OUT_OF_ORDER, 0, 3, "a part once more");
    expect(part(&s, 0, 3, 3), FAILURE_BAD_SLOT, 6, 5, "more than the batch");
    expect(finish(&s, 70, 3), FAILURE_PARTS_MISSING, 0, 3, "no minus pass yet");
    take_part(&s, 0, 3, 1);
    take_part(&s, 1, 0, 2);
    put_samples(s.engine, &s.batch, 0, 3);
    expect(part(&s, 0, 4, 1), FAILURE_OUT_OF_ORDER, 0, 1, "plus behind minus");
    expect(part(&s, 1, 2, 3), FAILURE_BAD_SLOT, 5, 4, "more than went through the plus pass");
    expect(finish(&s, 70, 4), FAILURE_PARTS_MISSING, 2, 4, "half a minus pass");
    take_part(&s, 1, 2, 2);
    expect(finish(&s, 71, 4), FAILURE_OUT_OF_ORDER, 71, 70, "another step");
    expect(finish(&s, 70, 5), FAILURE_PARTS_MISSING, 4, 5, "more than have been through");
    expect(finish(&s, 70, 4), 0, 0, 0, "the end of the step");
    end(&s);
}

static void test_one_pass(void) {
    streaming_t s = begin(0, SCOPE_SAMPLE, 2);
    take_part(&s, 0, 0, 2);
    put_samples(s.engine, &s.batch, 2, 1);
    expect(part(&s, 1, 0, 1), FAILURE_BAD_SLOT, 1, 1, "back-propagation has one pass");
    expect(finish(&s, 70, 3), FAILURE_PARTS_MISSING, 2, 3, "a sample is missing");
    expect(part(&s, 0, 2, 1), 0, 0, 0, "part");
    expect(finish(&s, 70, 3), 0, 0, 0, "the end of the step");
    end(&s);
}

/* A group cannot come in pieces: its samples share their exponents. */
static void test_parts_of_a_group(void) {
    streaming_t s = begin(2, SCOPE_BATCH, 5);
    take_part(&s, 0, 0, 4);
    put_samples(s.engine, &s.batch, 0, 4);
    expect(part(&s, 0, 4, 1), FAILURE_BAD_SLOT, 5, 4, "another group in the plus pass");
    take_part(&s, 1, 0, 3);
    put_samples(s.engine, &s.batch, 0, 4);
    expect(part(&s, 1, 3, 1), FAILURE_BAD_SLOT, 4, 3, "another group in the minus pass");
    expect(finish(&s, 70, 4), FAILURE_PARTS_MISSING, 3, 4, "the step cannot end");
    end(&s);
}

/* While a step is half done its weights are perturbed: nothing else is trained, evaluated or traced until it ends or is
   given up. */
static void test_between_parts(void) {
    streaming_t s = begin(2, SCOPE_SAMPLE, 3);
    elasticzo_settings_t settings = *elasticzo_settings(&s.engine->model);
    uint8_t out[16];
    uint32_t length = sizeof out, planned = 0;
    infer_result_t evaluation = {.predictions = out};
    take_part(&s, 0, 0, 3);
    put_samples(s.engine, &s.batch, 0, 3);
    expect(engine_infer(s.engine, 3, &evaluation), FAILURE_PARTS_MISSING, 3, 5, "infer");
    expect(engine_trace(s.engine, 0, 0, 0, out, &length), FAILURE_PARTS_MISSING, 3, 5, "trace");
    settings.first_step = 7;
    expect(engine_configure(s.engine, &elasticzo_int8, &settings, &planned), 0, 0, 0, "configure gives the step up");
    put_samples(s.engine, &s.batch, 0, 3);
    expect(engine_infer(s.engine, 3, &evaluation), 0, 0, 0, "infer");
    put_samples(s.engine, &s.batch, 0, 3);
    expect(finish(&s, 7, 3), FAILURE_NONE, 0, 0, "a step of the resident samples");
    end(&s);
}

static void test_refused_runs(void) {
    streaming_t few = begin(2, SCOPE_SAMPLE, 3);
    put_samples(few.engine, &few.batch, 0, 3);
    expect(engine_check_run(few.engine, 70, 2, 3), FAILURE_BAD_SLOT, 3, 5, "slots for less than a batch");
    end(&few);
    streaming_t all = begin(2, SCOPE_SAMPLE, 5);
    expect(engine_check_run(all.engine, 70, 1, 1), FAILURE_SLOTS_EMPTY, 0, 1, "no samples");
    put_samples(all.engine, &all.batch, 0, 5);
    expect(engine_check_run(all.engine, 69, 1, 5), FAILURE_OUT_OF_ORDER, 69, 70, "a step behind");
    expect(engine_check_run(all.engine, 70, 0, 5), FAILURE_BAD_SLOT, 0, UINT16_MAX, "no steps");
    expect(engine_check_run(all.engine, 70, 1, 6), FAILURE_BAD_SLOT, 6, 5, "more than the slots");
    expect(part(&all, 0, 0, 5), 0, 0, 0, "part");
    expect(engine_check_run(all.engine, 70, 1, 5), FAILURE_PARTS_MISSING, 5, 5, "a run within a step");
    end(&all);
}

void test_parts_and_runs(void) {
    test_streaming();
    test_run();
    test_order_of_parts();
    test_one_pass();
    test_parts_of_a_group();
    test_between_parts();
    test_refused_runs();
}
