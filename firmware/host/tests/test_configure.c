/* Settings: what `configure` refuses and in which words, and what it leaves as it was. */
#include <stddef.h>
#include <string.h>

#include "check.h"
#include "engine_fixture.h"
#include "methods/settings.h"

#define AT(name) offsetof(elasticzo_settings_t, name)

/* The good settings with one of them, by its place, changed. */
static elasticzo_settings_t with_field(elasticzo_settings_t s, uint8_t place, uint16_t value) {
    const uint32_t index = setting_index(&elasticzo_settings_table, place);
    memcpy((uint8_t *)&s + place, &value, elasticzo_settings_table.settings[index].bytes);
    return s;
}

static void refuse_setting(fixture_t *fixture, elasticzo_settings_t settings, uint8_t place, uint32_t value) {
    uint32_t planned = 0;
    expect(engine_configure(fixture->engine, &elasticzo_int8, &settings, &planned), FAILURE_BAD_SETTING,
           setting_index(&elasticzo_settings_table, place), value, "a bad setting");
}

static void test_settings(void) {
    fixture_t fixture = fixture_begin();
    uint32_t planned = 0;
    fixture_load(&fixture);
    expect(fixture_step(&fixture, 0, 1), FAILURE_NOT_CONFIGURED, 0, 0, "step");
    expect(fixture_infer(&fixture, 1), FAILURE_NOT_CONFIGURED, 0, 0, "infer");
    expect(engine_part(fixture.engine, 0, 0, 0, 1), FAILURE_NOT_CONFIGURED, 0, 0, "part");
    expect(engine_check_run(fixture.engine, 0, 1, 1), FAILURE_NOT_CONFIGURED, 0, 0, "run");
    static const struct {
        uint8_t place;
        uint16_t value;
    } bad[] = {{AT(partition), 5},   {AT(b_zo), 0},    {AT(b_zo), 8},  {AT(b_bp), 0},         {AT(b_bp), 8},
               {AT(r_max), 0},       {AT(r_max), 128}, {AT(loss), 2},  {AT(scope), 2},        {AT(perturb), 2},
               {AT(logit_error), 2}, {AT(batch), 0},   {AT(slots), 0}, {AT(slots), BATCH + 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse_setting(&fixture, with_field(good, bad[i].place, bad[i].value), bad[i].place, bad[i].value);
    }
    static const struct {
        uint8_t place;
        uint16_t value;
    } extreme[] = {{AT(partition), 0}, {AT(partition), 4}, {AT(b_zo), 7},        {AT(b_bp), 1},    {AT(b_bp), 7},
                   {AT(p_zero), 0},    {AT(p_zero), 255},  {AT(r_max), 1},       {AT(r_max), 127}, {AT(loss), 1},
                   {AT(scope), 1},     {AT(perturb), 1},   {AT(logit_error), 1}, {AT(batch), 1},   {AT(slots), 1}};
    for (size_t i = 0; i < sizeof extreme / sizeof extreme[0]; i++) {
        elasticzo_settings_t settings = with_field(good, extreme[i].place, extreme[i].value);
        settings.slots = settings.slots < settings.batch ? settings.slots : settings.batch;
        expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &settings, &planned), "an extreme setting");
    }
    fixture_end(&fixture);
}

/* Of two settings that do not go together it is always the same that is refused. */
static void test_settings_that_do_not_go_together(void) {
    fixture_t fixture = fixture_begin();
    uint32_t planned = 0;
    elasticzo_settings_t settings = good;
    fixture_load(&fixture);
    settings.perturb = PERTURB_EXACT;
    settings.r_max = 64;
    refuse_setting(&fixture, settings, AT(perturb), PERTURB_EXACT);
    settings.r_max = 63;
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &settings, &planned),
                "the largest noise of the exact form");
    settings.scope = SCOPE_BATCH;
    settings.slots = BATCH - 1;
    refuse_setting(&fixture, settings, AT(slots), BATCH - 1);
    settings.scope = SCOPE_SAMPLE;
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &settings, &planned),
                "fewer slots where samples may stream");
    settings.loss_fraction = 1;
    refuse_setting(&fixture, settings, AT(loss_fraction), 1);
    settings.loss = LOSS_INTEGER;
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &settings, &planned),
                "fraction bits of an integer loss");
    settings.loss_fraction = 6;
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &settings, &planned), "the most fraction bits");
    settings.loss_fraction = 7;
    refuse_setting(&fixture, settings, AT(loss_fraction), 7);
    fixture_put(&fixture, 1);
    expect(engine_put_sample(fixture.engine, 2, 0, (const uint8_t[PIXELS]){0}, PIXELS), FAILURE_BAD_SLOT, 2, 2,
           "a slot too many");
    fixture_end(&fixture);
}

static void test_does_not_fit(void) {
    fixture_t fixture = fixture_begin();
    uint32_t planned = 0;
    fixture_load(&fixture);
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &good, &planned), "configure");
    elasticzo_settings_t large = good;
    large.batch = large.slots = 1000;
    const failure_t failure = engine_configure(fixture.engine, &elasticzo_int8, &large, &planned);
    CHECK(failure.code == FAILURE_DOES_NOT_FIT && failure.a > 1000 * PIXELS && failure.b == ARENA, "code %u, a %u",
          failure.code, failure.a);
    expect(fixture_step(&fixture, 0, 1), FAILURE_NOT_CONFIGURED, 0, 0, "step after a plan that does not fit");
    fixture_end(&fixture);
}

/* `configure` again keeps the weights, goes on at its first step and empties the slots. */
static void test_configure_again(void) {
    fixture_t fixture = fixture_begin();
    uint32_t before[ENGINE_MAX_TENSORS], loaded[ENGINE_MAX_TENSORS], after[ENGINE_MAX_TENSORS], planned = 0;
    fixture_load(&fixture);
    expect_fine(engine_digests(fixture.engine, loaded), "digests");
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &good, &planned), "configure");
    fixture_put(&fixture, 0);
    expect_fine(fixture_step(&fixture, 0, 1), "step");
    expect_fine(engine_digests(fixture.engine, before), "digests");
    CHECK(memcmp(loaded, before, 4 * sizeof loaded[0]) != 0, "the step has changed the weights");
    fixture_put(&fixture, 0);
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &good, &planned), "configure again");
    expect_fine(engine_digests(fixture.engine, after), "digests");
    CHECK(memcmp(before, after, 4 * sizeof before[0]) == 0, "configure keeps the weights");
    expect(fixture_step(&fixture, 0, 1), FAILURE_SLOTS_EMPTY, 0, 1, "configure empties the slots");
    fixture_put(&fixture, 0);
    expect_fine(fixture_step(&fixture, 0, 1), "step 0 again");
    elasticzo_settings_t later = good;
    later.first_step = 1000000;
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &later, &planned), "configure");
    fixture_put(&fixture, 0);
    expect(fixture_step(&fixture, 1, 1), FAILURE_OUT_OF_ORDER, 1, 1000000, "the step that would have been next");
    expect_fine(fixture_step(&fixture, 1000000, 1), "the first step");
    fixture_end(&fixture);
}

/* Which settings are scheduled, by hand; and that bytes between settings do not count. */
static void check_table(const settings_table_t *table, const uint8_t *scheduled, uint32_t count) {
    uint8_t before[SETTINGS_BYTES], after[SETTINGS_BYTES];
    for (uint8_t i = 0; i < table->count; i++) {
        const setting_t *setting = &table->settings[i];
        memset(before, 0, sizeof before);
        memset(after, 0xFF, sizeof after);
        for (uint8_t j = 0; j < table->count; j++) {
            memset(after + table->settings[j].place, 0, table->settings[j].bytes);
        }
        CHECK(settings_may_follow(table, before, after), "the same");
        bool may = false;
        for (uint32_t j = 0; j < count; j++) {
            may = may || setting->place == scheduled[j];
        }
        after[setting->place + setting->bytes - 1] = 1;
        CHECK(settings_may_follow(table, before, after) == (may || setting->place == offsetof(settings_t, first_step)),
              "setting %u", i);
        settings_follow(table, before, after);
        for (uint32_t at = 0; at < sizeof before; at++) {
            const bool copied = may && at == setting->place + setting->bytes - 1u;
            CHECK(before[at] == copied, "setting %u, byte %u", i, at);
        }
    }
}

static void test_tables(void) {
    static const uint8_t of_elasticzo[] = {offsetof(elasticzo_settings_t, b_zo), offsetof(elasticzo_settings_t, b_bp),
                                           offsetof(elasticzo_settings_t, p_zero),
                                           offsetof(elasticzo_settings_t, r_max)};
    check_table(&elasticzo_settings_table, of_elasticzo, 4);
    check_table(&tflite8_settings_table, &(uint8_t){offsetof(tflite8_settings_t, eta)}, 1);
    check_table(&elasticzo_fp32_settings_table, &(uint8_t){offsetof(elasticzo_fp32_settings_t, eta)}, 1);
    check_table(&qzo_ff_settings_table, NULL, 0);
    check_table(&fqt_settings_table, &(uint8_t){offsetof(fqt_settings_t, eta)}, 1);
}

/* ElasticZO in its exact form: a schedule that raises r_max lowers the limit of the weights, and one may be written
   beyond it. By hand: the same weights, held to the limit before, in an engine that begins. */
static void test_limit(bool scheduled) {
    fixture_t fixture = fixture_begin(), held = fixture_begin();
    elasticzo_settings_t settings = good;
    uint32_t planned = 0, digest[2][ENGINE_MAX_TENSORS];
    fixture_load(&fixture);
    fixture_load(&held);
    settings.perturb = PERTURB_EXACT;
    settings.r_max = 7;
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &settings, &planned), "configure");
    fixture_put(&fixture, 0);
    expect_fine(fixture_step(&fixture, 0, 1), "step");
    settings.first_step = 1;
    settings.r_max = scheduled ? 63 : 7;
    if (scheduled) {
        expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &settings, &planned), "configure");
        CHECK(fixture.engine->model.settings.first_step == 0, "it follows");
    } else {
        expect_fine(engine_write_tensor(fixture.engine, 0, 0, 1, &(uint8_t){127}), "write");
    }
    expect_fine(engine_configure(held.engine, &elasticzo_int8, &settings, &planned), "configure");
    for (uint8_t i = 0; i < model_tensors(&fixture.engine->model); i++) {
        const trained_tensor_t tensor = model_tensor(&fixture.engine->model, i);
        for (uint32_t at = 0; at < tensor.size; at++) {
            const int32_t w = (int8_t)tensor.bytes[at], limit = i < settings.partition ? 127 - settings.r_max : 127;
            const int32_t to = w > limit ? limit : w < -limit ? -limit : w;
            expect_fine(engine_write_tensor(held.engine, i, at, 1, &(uint8_t){(uint8_t)to}), "write");
        }
    }
    fixture_put(&fixture, 0);
    fixture_put(&held, 0);
    expect_fine(fixture_step(&fixture, 1, 1), "step");
    expect_fine(fixture_step(&held, 1, 1), "step");
    expect_fine(engine_digests(fixture.engine, digest[0]), "digests");
    expect_fine(engine_digests(held.engine, digest[1]), "digests");
    CHECK(memcmp(digest[0], digest[1], model_tensors(&held.engine->model) * sizeof digest[0][0]) == 0, "scheduled: %d",
          scheduled);
    fixture_end(&fixture);
    fixture_end(&held);
}

void test_configure(void) {
    test_tables();
    test_settings();
    test_settings_that_do_not_go_together();
    test_does_not_fit();
    test_configure_again();
    test_limit(true);
    test_limit(false);
}
