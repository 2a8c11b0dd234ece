/* Where the cycles go, by a counter that jumps at every reading: what is booked tells how often it was. */
#include "check.h"
#include "trainee.h"

/* More than a quarter of the counter's range a reading: a sum in 32 bits would be wrong, a difference is not. */
#define JUMP 0x50000400u

static uint32_t readings;

static uint32_t jumping(void) {
    readings++;
    return JUMP * readings;
}


static uint64_t units(uint32_t bookings) {
    return (uint64_t)bookings * JUMP / CYCLES_UNIT;
}

/* Every layer is booked once for each group and pass; the last one also with the loss, and with the zeros of the gradients. */
static void check_profile(const engine_t *engine, uint32_t groups, uint32_t steps) {
    const settings_t *settings = &engine->settings;
    const network_t *network = &engine->model.network;
    const uint32_t passes = settings->partition > 0 ? 2 : 1, last = network->layers - 1u;
    const uint32_t first_bp = network_first_bp(network, settings->partition);
    uint32_t found[2 * ENGINE_MAX_LAYERS];
    engine_profile(engine, found);
    for (uint32_t i = 0; i <= last; i++) {
        const uint32_t forward = steps * passes * groups * (i == last ? 2 : 1);
        const uint32_t backward = i < first_bp ? 0 : steps * (groups + (i == last ? 1 : 0));
        CHECK(found[i] == (uint32_t)units(forward), "forward of layer %u: %u units, not %u bookings", i, found[i], forward);
        CHECK(found[last + 1 + i] == (uint32_t)units(backward), "backward of layer %u: %u units, not %u bookings", i,
              found[last + 1 + i], backward);
    }
}

static void check_phases(const engine_t *engine, const step_result_t *result, uint32_t groups, uint32_t steps) {
    const settings_t *settings = &engine->settings;
    const network_t *network = &engine->model.network;
    const uint64_t jump = JUMP, passes = settings->partition > 0 ? 2 : 1;
    const uint64_t trained = network->layers - network_first_bp(network, settings->partition);
    const uint64_t perturbations = settings->partition > 0 ? 2 : 0;
    CHECK(result->cycles_perturb == steps * perturbations * jump, "perturb");
    CHECK(result->cycles_forward == steps * passes * groups * (network->layers + 1u) * jump, "forward");
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
    CHECK(engine_infer(engine, (uint16_t)batch->count, &(infer_result_t){.predictions = predictions}).code == 0, "infer");
    free(predictions);
}

static void test_step(uint8_t partition, uint8_t scope, uint16_t slots) {
    network_file_t file;
    file_small_network(&file);
    const settings_t settings = {.partition = partition, .b_zo = 1, .b_bp = 5, .p_zero = 84, .r_max = 31, .scope = scope,
                                 .batch = 4, .seed = 9, .slots = slots};
    trainee_t trainee = trainee_begin(&file, &settings, jumping);
    batch_t batch = draw_batch(&trainee.engine->model.network, 4);
    const uint32_t groups = scope == SCOPE_BATCH ? 1 : 4;
    for (uint32_t step = 0; step < 2; step++) {
        const step_result_t result =
            slots == 4 ? step_at_once(trainee.engine, step, &batch) : step_in_parts(trainee.engine, step, &batch);
        check_phases(trainee.engine, &result, groups, 1);
        check_profile(trainee.engine, groups, 1);
    }
    batch.count = slots;
    evaluate_and_trace(trainee.engine, &batch);
    check_profile(trainee.engine, groups, 1);
    free_batch(&batch);
    trainee_end(&trainee);
    file_free(&file);
}

/* Laps of a run: one for each step, of the first 128 at most. */
static void test_laps(uint16_t steps) {
    network_file_t file;
    file_small_network(&file);
    const settings_t settings = {.partition = 3, .b_zo = 1, .b_bp = 5, .p_zero = 84, .r_max = 31, .batch = 1, .seed = 9,
                                 .slots = 1};
    trainee_t trainee = trainee_begin(&file, &settings, jumping);
    batch_t batch = draw_batch(&trainee.engine->model.network, 1);
    step_result_t result;
    put_samples(trainee.engine, &batch, 0, 1);
    engine_run(trainee.engine, steps, 1, &result);
    engine_report(trainee.engine, &result);
    check_phases(trainee.engine, &result, 1, steps);
    check_profile(trainee.engine, 1, steps);
    const uint16_t told = steps < ENGINE_MAX_LAPS ? steps : ENGINE_MAX_LAPS;
    const uint32_t bookings = 2 + 2 * 10 + 2 + 1; /* perturb, forward with the loss, backward of the last layer, update */
    CHECK(trainee.engine->lap_count == told, "%u laps, not %u", trainee.engine->lap_count, told);
    for (uint16_t i = 0; i < told; i++) {
        CHECK(trainee.engine->laps[i] == (uint32_t)units(bookings), "lap %u: %u units", i, trainee.engine->laps[i]);
    }
    free_batch(&batch);
    trainee_end(&trainee);
    file_free(&file);
}

void test_cycles(void) {
    for (uint8_t partition = 0; partition <= 4; partition++) {
        test_step(partition, SCOPE_SAMPLE, 4);
        test_step(partition, SCOPE_SAMPLE, 3);
        test_step(partition, SCOPE_BATCH, 4);
    }
    test_laps(1);
    test_laps(5);
    test_laps(ENGINE_MAX_LAPS + 2);
}
