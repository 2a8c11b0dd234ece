/* Where the cycles go, by a counter that jumps at every reading: what is booked tells how often it was. */
#include <string.h>

#include "check.h"
#include "trainee.h"

/* More than a quarter of the counter's range a reading: a sum in 32 bits would be wrong, a difference is not. */
#define JUMP 0x50000400u

static uint32_t readings;

static uint32_t jumping(void) {
    readings++;
    return JUMP * readings;
}

static uint64_t cycles_of(uint32_t bookings) {
    return (uint64_t)bookings * JUMP;
}

/* Every layer is booked once for each group and pass; the last one also with the loss, and with the zeros of the
   gradients. */
static void check_profile(const engine_t *engine, uint32_t groups, uint32_t steps) {
    const elasticzo_settings_t *settings = elasticzo_settings(&engine->model);
    const graph_file_t *file = &engine->model.file;
    const uint32_t passes = settings->partition > 0 ? 2 : 1, last = file->layers - 1u;
    const uint32_t first_bp = graph_weighted_layer(file, settings->partition);
    const cycle_account_t *account = &engine->model.account;
    for (uint32_t i = 0; i <= last; i++) {
        const uint32_t forward = steps * passes * groups * (i == last ? 2 : 1);
        const uint32_t backward = i < first_bp ? 0 : steps * (groups + (i == last ? 1 : 0));
        CHECK(account->forward[i] == cycles_of(forward), "forward of layer %u: not %u bookings", i, forward);
        CHECK(account->backward[i] == cycles_of(backward), "backward of layer %u: not %u bookings", i, backward);
    }
}

static void check_phases(const engine_t *engine, const step_result_t *result, uint32_t groups, uint32_t steps) {
    const elasticzo_settings_t *settings = elasticzo_settings(&engine->model);
    const graph_file_t *file = &engine->model.file;
    const uint64_t jump = JUMP, passes = settings->partition > 0 ? 2 : 1;
    const uint64_t trained = file->layers - graph_weighted_layer(file, settings->partition);
    const uint64_t perturbations = settings->partition > 0 ? 2 : 0;
    CHECK(result->cycles_perturb == steps * perturbations * jump, "perturb");
    CHECK(result->cycles_forward == steps * passes * groups * (file->layers + 1u) * jump, "forward");
    CHECK(result->cycles_backward == (trained > 0 ? steps * (groups * trained + 1) * jump : 0), "backward");
    CHECK(result->cycles_update == steps * jump && result->cycles_digest == jump, "update and digest");
    CHECK(result->cycles_total == result->cycles_perturb + result->cycles_forward + result->cycles_backward +
                                      result->cycles_update + result->cycles_digest,
          "the total is the sum");
    CHECK(result->cycles_total > UINT32_MAX, "more than 32 bits");
}

/* What is not training does not change the account of the last step. */
static void evaluate_and_trace(engine_t *engine, const batch_t *batch) {
    uint8_t *predictions = take(batch->count), out[4];
    uint32_t length = sizeof out;
    put_samples(engine, batch, 0, batch->count);
    CHECK(engine_trace(engine, 0, 0, 0, out, &length).code == 0, "trace");
    CHECK(engine_infer(engine, (uint16_t)batch->count, &(infer_result_t){.predictions = predictions}).code == 0,
          "infer");
    free(predictions);
}

static void test_step(uint8_t partition, uint8_t scope, uint16_t slots) {
    graph_made_t file;
    chain_small(&file);
    const elasticzo_settings_t settings = {.partition = partition,
                                           .b_zo = 1,
                                           .b_bp = 5,
                                           .p_zero = 84,
                                           .r_max = 31,
                                           .scope = scope,
                                           .batch = 4,
                                           .seed = 9,
                                           .slots = slots};
    trainee_t trainee = trainee_begin(&file, &settings, jumping);
    batch_t batch = draw_batch(&trainee.engine->model.file, 4);
    const uint32_t groups = scope == SCOPE_BATCH ? 1 : 4;
    for (uint32_t step = 0; step < 2; step++) {
        const trained_t trained =
            slots == 4 ? step_at_once(trainee.engine, step, &batch) : step_in_parts(trainee.engine, step, &batch);
        check_phases(trainee.engine, &trained.result, groups, 1);
        check_profile(trainee.engine, groups, 1);
    }
    batch.count = slots;
    evaluate_and_trace(trainee.engine, &batch);
    check_profile(trainee.engine, groups, 1);
    free_batch(&batch);
    trainee_end(&trainee);
    made_free(&file);
}

/* Laps of a run: one for each step, of the first ENGINE_MAX_LAPS at most. */
static void test_laps(uint16_t steps) {
    graph_made_t file;
    chain_small(&file);
    const elasticzo_settings_t settings = {
        .partition = 3, .b_zo = 1, .b_bp = 5, .p_zero = 84, .r_max = 31, .batch = 1, .seed = 9, .slots = 1};
    trainee_t trainee = trainee_begin(&file, &settings, jumping);
    batch_t batch = draw_batch(&trainee.engine->model.file, 1);
    trained_t trained;
    put_samples(trainee.engine, &batch, 0, 1);
    engine_run(trainee.engine, steps, 1, &trained.result);
    engine_report(trainee.engine, &trained.result, trained.digests);
    check_phases(trainee.engine, &trained.result, 1, steps);
    check_profile(trainee.engine, 1, steps);
    const uint16_t told = steps < ENGINE_MAX_LAPS ? steps : ENGINE_MAX_LAPS;
    CHECK(trainee.engine->lap_count == told, "%u laps, not %u", trainee.engine->lap_count, told);
    for (uint16_t i = 0; i < told; i++) {
        const lap_t *lap = &trainee.engine->laps[i];
        CHECK(lap->perturb == cycles_of(2) && lap->forward == cycles_of(2 * 10) && lap->backward == cycles_of(2) &&
                  lap->update == cycles_of(1),
              "lap %u", i); /* forward with the loss, backward of the last layer */
    }
    free_batch(&batch);
    trainee_end(&trainee);
    made_free(&file);
}

static uint64_t of_phase(const stretches_t *stretches, uint8_t phase) {
    uint64_t total = 0;
    for (uint16_t i = 0; i < stretches->made; i++) {
        total += stretches->stretch[i] >> STRETCH_PHASE_BIT == phase
                     ? stretches->stretch[i] & (((uint64_t)1 << STRETCH_PHASE_BIT) - 1)
                     : 0;
    }
    return total;
}

/* The stretches of the last step of a run: in the order in which the phases came, none beside one of its own phase, and
   together its lap. */
static void test_stretches(uint8_t partition, uint8_t scope, const char *expected) {
    graph_made_t file;
    chain_small(&file);
    const elasticzo_settings_t settings = {.partition = partition,
                                           .b_zo = 1,
                                           .b_bp = 5,
                                           .p_zero = 84,
                                           .r_max = 31,
                                           .scope = scope,
                                           .batch = 3,
                                           .seed = 9,
                                           .slots = 3};
    trainee_t trainee = trainee_begin(&file, &settings, jumping);
    batch_t batch = draw_batch(&trainee.engine->model.file, 3);
    trained_t trained;
    put_samples(trainee.engine, &batch, 0, 3);
    engine_run(trainee.engine, 4, 3, &trained.result);
    engine_report(trainee.engine, &trained.result, trained.digests);
    const stretches_t *stretches = &trainee.engine->model.stretches;
    const lap_t *lap = &trainee.engine->laps[3];
    CHECK(stretches->made == strlen(expected), "%u stretches, not %s", stretches->made, expected);
    for (uint16_t i = 0; i < stretches->made; i++) {
        CHECK("pfbu"[stretches->stretch[i] >> STRETCH_PHASE_BIT] == expected[i], "stretch %u of %s", i, expected);
    }
    CHECK(of_phase(stretches, PHASE_PERTURB) == lap->perturb && of_phase(stretches, PHASE_FORWARD) == lap->forward &&
              of_phase(stretches, PHASE_BACKWARD) == lap->backward && of_phase(stretches, PHASE_UPDATE) == lap->update,
          "the stretches of %s are its lap", expected);
    free_batch(&batch);
    trainee_end(&trainee);
    made_free(&file);
}

/* More stretches than there is room for are counted, and the room is not left. */
static void test_stretches_without_room(void) {
    graph_made_t file;
    chain_small(&file);
    const elasticzo_settings_t settings = {
        .partition = 0, .b_zo = 1, .b_bp = 5, .p_zero = 84, .r_max = 31, .batch = 60, .seed = 9, .slots = 60};
    trainee_t trainee = trainee_begin(&file, &settings, jumping);
    batch_t batch = draw_batch(&trainee.engine->model.file, 60);
    (void)step_at_once(trainee.engine, 0, &batch);
    const stretches_t *stretches = &trainee.engine->model.stretches;
    CHECK(stretches->made == 2 * 60 + 2, "%u stretches",
          stretches->made); /* the zeros, forward and backward of each sample, the update */
    CHECK(stretches->stretch[ENGINE_MAX_STRETCHES - 1] >> STRETCH_PHASE_BIT == PHASE_FORWARD, "the last that is kept");
    free_batch(&batch);
    trainee_end(&trainee);
    made_free(&file);
}

/* A counter that has `left` cycles to go before it wraps, and counts 1000 from one reading to the next. */
static uint32_t clock_now;

static uint32_t ticking(void) {
    clock_now += 1000;
    return clock_now;
}

static step_result_t step_from(uint32_t start) {
    graph_made_t file;
    chain_small(&file);
    const elasticzo_settings_t settings = {
        .partition = 2, .b_zo = 1, .b_bp = 5, .p_zero = 84, .r_max = 31, .batch = 2, .seed = 9, .slots = 2};
    clock_now = start;
    trainee_t trainee = trainee_begin(&file, &settings, ticking);
    batch_t batch = draw_batch(&trainee.engine->model.file, 2);
    const step_result_t result = step_at_once(trainee.engine, 0, &batch).result;
    free_batch(&batch);
    trainee_end(&trainee);
    made_free(&file);
    return result;
}

/* Wherever in a step the counter wraps, and be it between any two readings, the step is as long as it is without. */
static void test_wrap_within_a_step(void) {
    const step_result_t plain = step_from(0);
    const uint32_t readings_of_step = clock_now / 1000;
    CHECK(readings_of_step > 20, "a step reads the counter");
    for (uint32_t i = 0; i < readings_of_step; i++) {
        const step_result_t wrapped = step_from(UINT32_MAX - 1000 * i);
        CHECK(clock_now < 1000 * (readings_of_step + 1), "reading %u: the counter has wrapped", i);
        CHECK(wrapped.cycles_perturb == plain.cycles_perturb && wrapped.cycles_forward == plain.cycles_forward &&
                  wrapped.cycles_backward == plain.cycles_backward && wrapped.cycles_update == plain.cycles_update &&
                  wrapped.cycles_digest == plain.cycles_digest && wrapped.cycles_total == plain.cycles_total,
              "a wrap after %u readings", i);
    }
}

/* What a booking costs is what lies between two readings, and is booked nowhere. */
static void test_book_nothing(void) {
    graph_made_t file;
    chain_small(&file);
    const elasticzo_settings_t settings = {
        .partition = 3, .b_zo = 1, .b_bp = 5, .p_zero = 84, .r_max = 31, .batch = 1, .seed = 9, .slots = 1};
    clock_now = UINT32_MAX - 2500;
    trainee_t trainee = trainee_begin(&file, &settings, ticking);
    batch_t batch = draw_batch(&trainee.engine->model.file, 1);
    (void)step_at_once(trainee.engine, 0, &batch);
    const cycle_account_t before = trainee.engine->model.account;
    for (int i = 0; i < 5; i++) {
        CHECK(stopwatch_book_nothing(&trainee.engine->model.watch) == 1000, "one reading to the next");
    }
    CHECK(memcmp(&before, &trainee.engine->model.account, sizeof before) == 0, "the account is that of the step");
    free_batch(&batch);
    trainee_end(&trainee);
    made_free(&file);
}

void test_cycles(void) {
    test_wrap_within_a_step();
    test_book_nothing();
    for (uint8_t partition = 0; partition <= 4; partition++) {
        test_step(partition, SCOPE_SAMPLE, 4);
        test_step(partition, SCOPE_SAMPLE, 3);
        test_step(partition, SCOPE_BATCH, 4);
    }
    test_stretches(0, SCOPE_SAMPLE, "bfbfbfbu");
    test_stretches(0, SCOPE_BATCH, "bfbu");
    test_stretches(2, SCOPE_SAMPLE, "bpfpfbfbfbu");
    test_stretches(4, SCOPE_BATCH, "pfpfu");
    test_stretches_without_room();
    test_laps(1);
    test_laps(5);
    test_laps(ENGINE_MAX_LAPS + 2);
}
