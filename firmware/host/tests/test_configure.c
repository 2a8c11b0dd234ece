/* Settings: what `configure` refuses and in which words, and what it leaves as it was. */
#include <string.h>

#include "check.h"
#include "engine_bench.h"

/* The good settings with one of them, by its index in the request, changed. */
static elasticzo_settings_t with_field(elasticzo_settings_t s, uint32_t field, uint16_t value) {
    const setting_t *setting = &elasticzo_settings_table.settings[field];
    memcpy((uint8_t *)&s + setting->place, &value, setting->bytes);
    return s;
}

static void refuse_setting(bench_t *bench, elasticzo_settings_t settings, uint32_t field, uint32_t value) {
    uint32_t planned = 0;
    expect(engine_configure(bench->engine, &elasticzo_int8, &settings, &planned), FAILURE_BAD_SETTING, field, value,
           "a bad setting");
}

static void test_settings(void) {
    bench_t bench = bench_begin();
    uint32_t planned = 0;
    bench_load(&bench);
    expect(bench_step(&bench, 0, 1), FAILURE_NOT_CONFIGURED, 0, 0, "step");
    expect(bench_infer(&bench, 1), FAILURE_NOT_CONFIGURED, 0, 0, "infer");
    expect(engine_part(bench.engine, 0, 0, 0, 1), FAILURE_NOT_CONFIGURED, 0, 0, "part");
    expect(engine_check_run(bench.engine, 0, 1, 1), FAILURE_NOT_CONFIGURED, 0, 0, "run");
    static const struct {
        uint8_t field;
        uint16_t value;
    } bad[] = {{SETTING_ELASTICZO_PARTITION, 5},
               {SETTING_ELASTICZO_B_ZO, 0},
               {SETTING_ELASTICZO_B_ZO, 8},
               {SETTING_ELASTICZO_B_BP, 0},
               {SETTING_ELASTICZO_B_BP, 8},
               {SETTING_ELASTICZO_R_MAX, 0},
               {SETTING_ELASTICZO_R_MAX, 128},
               {SETTING_ELASTICZO_LOSS, 2},
               {SETTING_ELASTICZO_SCOPE, 2},
               {SETTING_ELASTICZO_PERTURB, 2},
               {SETTING_ELASTICZO_LOGIT_ERROR, 2},
               {SETTING_BATCH, 0},
               {SETTING_SLOTS, 0},
               {SETTING_SLOTS, BATCH + 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse_setting(&bench, with_field(good, bad[i].field, bad[i].value), bad[i].field, bad[i].value);
    }
    static const struct {
        uint8_t field;
        uint16_t value;
    } extreme[] = {{SETTING_ELASTICZO_PARTITION, 0},
                   {SETTING_ELASTICZO_PARTITION, 4},
                   {SETTING_ELASTICZO_B_ZO, 7},
                   {SETTING_ELASTICZO_B_BP, 1},
                   {SETTING_ELASTICZO_B_BP, 7},
                   {SETTING_ELASTICZO_P_ZERO, 0},
                   {SETTING_ELASTICZO_P_ZERO, 255},
                   {SETTING_ELASTICZO_R_MAX, 1},
                   {SETTING_ELASTICZO_R_MAX, 127},
                   {SETTING_ELASTICZO_LOSS, 1},
                   {SETTING_ELASTICZO_SCOPE, 1},
                   {SETTING_ELASTICZO_PERTURB, 1},
                   {SETTING_ELASTICZO_LOGIT_ERROR, 1},
                   {SETTING_BATCH, 1},
                   {SETTING_SLOTS, 1}};
    for (size_t i = 0; i < sizeof extreme / sizeof extreme[0]; i++) {
        elasticzo_settings_t settings = with_field(good, extreme[i].field, extreme[i].value);
        settings.slots = settings.slots < settings.batch ? settings.slots : settings.batch;
        expect_fine(engine_configure(bench.engine, &elasticzo_int8, &settings, &planned), "an extreme setting");
    }
    bench_end(&bench);
}

/* Of two settings that do not go together it is always the same that is refused. */
static void test_settings_that_do_not_go_together(void) {
    bench_t bench = bench_begin();
    uint32_t planned = 0;
    elasticzo_settings_t settings = good;
    bench_load(&bench);
    settings.perturb = PERTURB_EXACT;
    settings.r_max = 64;
    refuse_setting(&bench, settings, SETTING_ELASTICZO_PERTURB, PERTURB_EXACT);
    settings.r_max = 63;
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &settings, &planned),
                "the largest noise of the exact form");
    settings.scope = SCOPE_BATCH;
    settings.slots = BATCH - 1;
    refuse_setting(&bench, settings, SETTING_SLOTS, BATCH - 1);
    settings.scope = SCOPE_SAMPLE;
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &settings, &planned),
                "fewer slots where samples may stream");
    settings.loss_fraction = 1;
    refuse_setting(&bench, settings, SETTING_ELASTICZO_LOSS_FRACTION, 1);
    settings.loss = LOSS_INTEGER;
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &settings, &planned),
                "fraction bits of an integer loss");
    settings.loss_fraction = 6;
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &settings, &planned), "the most fraction bits");
    settings.loss_fraction = 7;
    refuse_setting(&bench, settings, SETTING_ELASTICZO_LOSS_FRACTION, 7);
    bench_put(&bench, 1);
    expect(engine_put_sample(bench.engine, 2, 0, (const uint8_t[PIXELS]){0}, PIXELS), FAILURE_BAD_SLOT, 2, 2,
           "a slot too many");
    bench_end(&bench);
}

static void test_does_not_fit(void) {
    bench_t bench = bench_begin();
    uint32_t planned = 0;
    bench_load(&bench);
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &good, &planned), "configure");
    elasticzo_settings_t large = good;
    large.batch = large.slots = 1000;
    const failure_t failure = engine_configure(bench.engine, &elasticzo_int8, &large, &planned);
    CHECK(failure.code == FAILURE_DOES_NOT_FIT && failure.a > 1000 * PIXELS && failure.b == ARENA, "code %u, a %u",
          failure.code, failure.a);
    expect(bench_step(&bench, 0, 1), FAILURE_NOT_CONFIGURED, 0, 0, "step after a plan that does not fit");
    bench_end(&bench);
}

/* `configure` again keeps the weights, goes on at its first step and empties the slots. */
static void test_configure_again(void) {
    bench_t bench = bench_begin();
    uint32_t before[ENGINE_MAX_TENSORS], loaded[ENGINE_MAX_TENSORS], after[ENGINE_MAX_TENSORS], planned = 0;
    bench_load(&bench);
    expect_fine(engine_digests(bench.engine, loaded), "digests");
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &good, &planned), "configure");
    bench_put(&bench, 0);
    expect_fine(bench_step(&bench, 0, 1), "step");
    expect_fine(engine_digests(bench.engine, before), "digests");
    CHECK(memcmp(loaded, before, 4 * sizeof loaded[0]) != 0, "the step has changed the weights");
    bench_put(&bench, 0);
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &good, &planned), "configure again");
    expect_fine(engine_digests(bench.engine, after), "digests");
    CHECK(memcmp(before, after, 4 * sizeof before[0]) == 0, "configure keeps the weights");
    expect(bench_step(&bench, 0, 1), FAILURE_SLOTS_EMPTY, 0, 1, "configure empties the slots");
    bench_put(&bench, 0);
    expect_fine(bench_step(&bench, 0, 1), "step 0 again");
    elasticzo_settings_t later = good;
    later.first_step = 1000000;
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &later, &planned), "configure");
    bench_put(&bench, 0);
    expect(bench_step(&bench, 1, 1), FAILURE_OUT_OF_ORDER, 1, 1000000, "the step that would have been next");
    expect_fine(bench_step(&bench, 1000000, 1), "the first step");
    bench_end(&bench);
}

void test_configure(void) {
    test_settings();
    test_settings_that_do_not_go_together();
    test_does_not_fit();
    test_configure_again();
}
