/* Where the plan of FQT places what: docs/arithmetic-fqt.md, section 10. */
#include "check.h"
#include "fqt_trainee.h"
#include "methods/fqt.h"

/* Where the plan of A places what, by hand: the file ends at 320, what stays at 800. */
static void test_plan_of_a(void) {
    static const struct {
        uint16_t place;
        uint32_t at;
    } rows[] = {{PLAN_LABELS, 320},
                {PLAN_SAMPLES, 328},
                {FQT_OBSERVED, 400},
                {PLAN_GRADIENT * PLAN_LENGTH + 0, 408},
                {PLAN_GRADIENT * PLAN_LENGTH + 2, 488},
                {FQT_KEPT * PLAN_LENGTH + 0, 720},
                {FQT_KEPT * PLAN_LENGTH + 2, 728},
                {FQT_STATISTICS * PLAN_LENGTH + 0, 736},
                {FQT_STATISTICS * PLAN_LENGTH + 2, 760},
                {PLAN_WORK * PLAN_LENGTH + 0, 800},   /* 512 bytes, slot 0 */
                {PLAN_SUMS * PLAN_LENGTH + 0, 800},   /* 440, slot 6 */
                {PLAN_SUMS * PLAN_LENGTH + 2, 800},   /* 240, slot 4 */
                {PLAN_BACK * PLAN_LENGTH + 2, 1040},  /* 80, slot 4 */
                {PLAN_VALUE * PLAN_LENGTH + 1, 1312}, /* 72, slots 0..6 */
                {PLAN_ERROR * PLAN_LENGTH + 1, 1240}, /* 72, slots 5..6 */
                {PLAN_VALUE * PLAN_LENGTH + 2, 1120}, /* 24, slots 1..4 */
                {PLAN_ERROR * PLAN_LENGTH + 2, 1144}, /* 24, slots 4..5 */
                {FQT_RANK * PLAN_LENGTH + 2, 1168},   /* 24, slot 4 */
                {PLAN_WORK * PLAN_LENGTH + 2, 800},   /* 16, slot 2 */
                {FQT_RANK * PLAN_LENGTH + 0, 1384},   /* 16, slot 6 */
                {PLAN_VALUE * PLAN_LENGTH + 3, 1192}, /* 8, slots 2..4 */
                {PLAN_ERROR * PLAN_LENGTH + 3, 1200}, /* 8, slots 3..4 */
                {PLAN_BACK * PLAN_LENGTH + 1, PLAN_NOWHERE},
                {PLAN_VALUE * PLAN_LENGTH + 0, PLAN_NOWHERE}};
    const fqt_settings_t settings = fqt_defaults();
    graph_made_t made;
    affine8_network(&made, 'A', false, 0);
    CHECK(made.size == 320, "the file has %u bytes", made.size);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    CHECK(trainee.planned == 1400, "%u bytes", trainee.planned);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK(trainee.engine->model.plan.at[rows[i].place] == rows[i].at, "row %u: %u", i,
              trainee.engine->model.plan.at[rows[i].place]);
    }
    fqt_trainee_free(&trainee);
    trainee = fqt_trainee_new(&made, &settings, true); /* theta 48, beta 8, theta 88, beta 16 */
    CHECK(trainee.planned == 1400 - 320 + 160, "in flash: %u bytes", trainee.planned);
    fqt_trainee_free(&trainee);
    made_free(&made);
}

/* What stays of B with ranges of errors: those, and the table of its hard_swish, which is reached or not. */
static void test_lines_that_stay(void) {
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    affine8_network(&made, 'B', false, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    const uint32_t usual = trainee.engine->model.plan.always;
    const uint32_t table = plan_at(&trainee.engine->model.plan, AFFINE8_TABLE, 1);
    CHECK(trainee.engine->model.plan.at[plan_place(PLAN_GRADIENT, 0)] - table == 768, "a table with slopes");
    fqt_trainee_free(&trainee);
    settings.error_range = ERROR_RANGE_RUNNING;
    trainee = fqt_trainee_new(&made, &settings, false);
    CHECK(trainee.engine->model.plan.always == usual + 16 * 12, "16 bytes a layer");
    fqt_trainee_free(&trainee);
    settings = fqt_defaults();
    settings.last_layers = 6;
    trainee = fqt_trainee_new(&made, &settings, false);
    CHECK(trainee.engine->model.plan.at[plan_place(PLAN_GRADIENT, 2)] -
                  plan_at(&trainee.engine->model.plan, AFFINE8_TABLE, 1) ==
              256,
          "a table without");
    fqt_trainee_free(&trainee);
    made_free(&made);
}

void test_fqt_plan(void) {
    test_plan_of_a();
    test_lines_that_stay();
}
