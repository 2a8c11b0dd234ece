/* What is refused of a file in float32, of settings and of tensors, and where the plan places what: docs/network.md,
   docs/arithmetic-float32.md, sections 10 and 11, docs/memory.md. */
#include <string.h>

#include "check.h"
#include "float32_made.h"
#include "graph/checks.h"
#include "trainer/registry.h"

enum { CONV = 0, POOL = 1, FC = 2, HEADER = 255 };

static const float minus_zero = -0.0f, past_weight = 0x1.000002p20f, past_limit = 0x1.000002p40f;

/* A file of network A after a change of its bytes; it is opened again. */
static void expect_after(void (*change)(graph_made_t *made), uint32_t layer, uint32_t check, const char *what) {
    graph_made_t made;
    made_network_a(&made);
    made_expect(&made, 0, 0, 0, "network A");
    change(&made);
    made_seal(&made);
    made_expect(&made, FAILURE_NETWORK_LAYER, layer, check, what);
    made_free(&made);
}

static void put_f32(uint8_t *to, float x) {
    memcpy(to, &x, sizeof x);
}

static uint8_t *parameters(const graph_made_t *made, uint32_t layer) {
    return made->bytes + made_record(made, layer)->parameters_offset;
}

static graph_header_t *header(const graph_made_t *made) {
    return (graph_header_t *)(void *)made->bytes;
}

static void set_large_scale(graph_made_t *made) {
    header(made)->scale = 0x1.000002p32f;
}

static void set_single(graph_made_t *made) {
    made_record(made, CONV)->rounding = ROUNDS_SINGLE;
}

static void set_large_weight(graph_made_t *made) {
    put_f32(made->bytes + made_record(made, CONV)->weights_offset, -past_weight);
}

static void set_bias_nan(graph_made_t *made) {
    put_f32(parameters(made, FC) + 8, float32_from_bits(0x7FC00000u));
}

static void set_equal_limits(graph_made_t *made) {
    put_f32(parameters(made, CONV) + 4, 0.0f);
}

static void set_minus_zero(graph_made_t *made) {
    put_f32(parameters(made, CONV), minus_zero);
}

static void set_far_limit(graph_made_t *made) {
    put_f32(parameters(made, FC) + 4, past_limit);
}

static void set_limit_nan(graph_made_t *made) {
    put_f32(parameters(made, FC), float32_from_bits(0x7FC00000u));
}

static void set_limit_of_pool(graph_made_t *made) {
    put_f32(parameters(made, POOL), 0.0f);
}

static void set_relu(graph_made_t *made) {
    graph_layer_t *layer = made_record(made, POOL);
    layer->op = OP_RELU;
    memset(&layer->kernel_h, 0, 6);
    layer->out_h = layer->in_h;
    layer->out_w = layer->in_w;
}

static void set_offset(graph_made_t *made) {
    made_record(made, FC)->parameters_offset += 4;
}

static void set_exponent(graph_made_t *made) {
    made_record(made, CONV)->weight_exponent = -7;
}

static void test_files(void) {
    expect_after(set_large_scale, 0, CHECK_SCALE, "a scale above 2^32");
    expect_after(set_single, CONV, CHECK_ZERO, "a rounding");
    expect_after(set_large_weight, CONV, CHECK_WEIGHT, "a weight beyond 2^20");
    expect_after(set_bias_nan, FC, CHECK_WEIGHT, "a bias that is no number");
    expect_after(set_equal_limits, CONV, CHECK_LIMITS, "equal limits");
    expect_after(set_minus_zero, CONV, CHECK_LIMITS, "a limit of -0");
    expect_after(set_far_limit, FC, CHECK_LIMITS, "a limit beyond 2^40");
    expect_after(set_limit_nan, FC, CHECK_LIMITS, "a limit that is no number");
    expect_after(set_limit_of_pool, POOL, CHECK_LIMITS, "a pool with a limit");
    expect_after(set_relu, POOL, CHECK_FORMAT, "relu");
    expect_after(set_offset, FC, CHECK_PLACE, "parameters elsewhere");
    expect_after(set_exponent, CONV, CHECK_ZERO, "an exponent");
}

static const limits_f32_t none[] = {{-MOST_F32, MOST_F32}, {-MOST_F32, MOST_F32}, {-MOST_F32, MOST_F32}};

static void expect_sums(graph_made_t *made, bool fit, const char *what) {
    float32_finish(made, 1.0f, 0, none, vector_element);
    made_expect(made, fit ? 0 : FAILURE_NETWORK_LAYER, 0, fit ? 0 : CHECK_SUMS, what);
    made_free(made);
}

static void test_sums(void) {
    graph_made_t made;
    made_begin(&made, 256, 256, 2, 2);
    made_fully_connected(&made, 0, 2);
    expect_sums(&made, true, "2^17 products");
    made_begin(&made, 256, 257, 2, 2);
    made_fully_connected(&made, 0, 2);
    expect_sums(&made, false, "more products");
    made_begin(&made, 256, 256, 1, 2);
    made_window(&made, OP_MAX_POOL, 0, 0, 1, 1, 1, 0);
    made_fully_connected(&made, 1, 2);
    expect_sums(&made, true, "2^16 positions");
    made_begin(&made, 256, 257, 1, 2);
    made_window(&made, OP_MAX_POOL, 0, 0, 1, 1, 1, 0);
    made_window(&made, OP_MAX_POOL, 1, 0, 2, 2, 2, 0);
    made_fully_connected(&made, 2, 2);
    expect_sums(&made, false, "more positions");
}

static void expect_setting(float32_trainee_t *trainee, const elasticzo_fp32_settings_t *settings, uint8_t place,
                           const char *what) {
    const method_t *method = registry_method(settings->method);
    const failure_t failure = engine_configure(trainee->engine, method, settings, &trainee->planned);
    CHECK(failure.code == FAILURE_BAD_SETTING && failure.a == setting_index(method->settings, place),
          "%s: code %u, a %u", what, failure.code, failure.a);
}

static void test_settings(void) {
    graph_made_t made;
    made_network_a(&made);
    elasticzo_fp32_settings_t settings = vector_settings(2);
    float32_trainee_t trainee = float32_trainee_new(&made, &settings);
    settings.partition = 3;
    expect_setting(&trainee, &settings, offsetof(elasticzo_fp32_settings_t, partition), "C > L");
    settings = vector_settings(1);
    settings.epsilon = 0x1.fffffep-25f;
    expect_setting(&trainee, &settings, offsetof(elasticzo_fp32_settings_t, epsilon), "a small epsilon");
    settings = vector_settings(1);
    settings.eta = float32_from_bits(0x7FC00000u);
    expect_setting(&trainee, &settings, offsetof(elasticzo_fp32_settings_t, eta), "no number");
    settings = vector_settings(1);
    settings.g_clip = -1.0f;
    expect_setting(&trainee, &settings, offsetof(elasticzo_fp32_settings_t, g_clip), "a negative limit");
    settings = vector_settings(1);
    settings.slots = 3;
    expect_setting(&trainee, &settings, offsetof(elasticzo_fp32_settings_t, slots), "more slots than samples");
    float32_trainee_free(&trainee);
    made_free(&made);
}

/* A pool whose windows overlap is taken where no error goes through it. */
static void test_pools(void) {
    static const limits_f32_t limits[] = {
        {0.0f, MOST_F32}, {-MOST_F32, MOST_F32}, {-MOST_F32, MOST_F32}, {-MOST_F32, MOST_F32}};
    graph_made_t made;
    made_begin(&made, 8, 8, 1, 3);
    made_window(&made, OP_CONV2D, 0, 2, 3, 3, 1, 1);
    made_window(&made, OP_MAX_POOL, 1, 0, 3, 3, 2, 0);
    made_fully_connected(&made, 2, 3);
    float32_finish(&made, 1.0f, 0, limits, vector_element);
    elasticzo_fp32_settings_t settings = vector_settings(1);
    float32_trainee_t trainee = float32_trainee_new(&made, &settings);
    settings.partition = 0;
    expect_setting(&trainee, &settings, offsetof(elasticzo_fp32_settings_t, partition), "windows that overlap");
    float32_trainee_free(&trainee);
    made_free(&made);
}

static void expect_written(float32_trainee_t *trainee, uint32_t offset, float x, uint32_t n, uint8_t code,
                           const char *what) {
    uint8_t bytes[4];
    memcpy(bytes, &x, sizeof x);
    const failure_t failure = engine_write_tensor(trainee->engine, 1, offset, n, bytes);
    CHECK(failure.code == code && (code == 0 || (failure.a == 1 && failure.b == offset)), "%s: code %u, a %u, b %u",
          what, failure.code, failure.a, failure.b);
}

static void test_written_tensors(void) {
    graph_made_t made;
    made_network_a(&made);
    const elasticzo_fp32_settings_t settings = vector_settings(2);
    float32_trainee_t trainee = float32_trainee_new(&made, &settings);
    float found;
    expect_written(&trainee, 4, -0x1p20f, 4, 0, "the largest bias");
    CHECK(engine_read_tensor(trainee.engine, 1, 4, 4, (uint8_t *)&found).code == 0 && found == -0x1p20f, "read back");
    expect_written(&trainee, 4, past_weight, 4, FAILURE_BAD_TENSOR, "a larger one");
    expect_written(&trainee, 4, float32_from_bits(0xFFC00000u), 4, FAILURE_BAD_TENSOR, "no number");
    expect_written(&trainee, 4, 0.0f, 2, 0, "half of the largest, which keeps its other bytes");
    expect_written(&trainee, 6, float32_from_bits(0x7F80u), 2, FAILURE_BAD_TENSOR,
                   "half a number, with which it is none");
    float32_trainee_free(&trainee);
    made_free(&made);
}

/* By hand, from docs/memory.md: network A, with the work of a step. */
static void test_placement(void) {
    enum { FILE_BYTES = 32 + 3 * 36 + (18 * 4 + 8 + 8) + 8 + (54 * 4 + 8 + 12) };
    static const struct {
        uint8_t partition;
        uint32_t gradients, others;
        uint64_t macs, runs;
    } rows[] = {
        /* without errors: value 1 beside the larger of values 0 and 2 */
        {2, 0, 72 * 4 + 36 * 4, 4 * (648 + 54), 12},
        /* the error of the logits lies where value 0 was */
        {1, 57 * 4 + 4, 72 * 4 + 36 * 4, 4 * (648 + 54) + 2 * 54, 14},
        /* value 0 is computed again, beside value 1 and its error */
        {0, 20 * 4 + 57 * 4 + 4, 36 * 4 + 72 * 4 + 72 * 4, 2 * (648 + 54) + 2 * (648 + 2 * 54), 12},
    };
    graph_made_t made;
    made_network_a(&made);
    CHECK((FILE_BYTES + 7) / 8 * 8 == (made.size + 7) / 8 * 8, "%u bytes", made.size);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const elasticzo_fp32_settings_t settings = vector_settings(rows[i].partition);
        float32_trainee_t trainee = float32_trainee_new(&made, &settings);
        const uint32_t always = (made.size + 7) / 8 * 8 + 8 + 72 + rows[i].gradients;
        uint32_t digests[4];
        step_result_t result;
        float32_fill(&trainee, 0, 2);
        CHECK(engine_step(trainee.engine, 0, 2, &result, digests).code == 0, "a step");
        CHECK(trainee.engine->model.plan.always == always, "%u always", trainee.engine->model.plan.always);
        CHECK(trainee.planned == always + rows[i].others, "C = %u: %u others", rows[i].partition,
              trainee.planned - always);
        CHECK(trainee.engine->model.macs == rows[i].macs && trainee.engine->model.layer_runs == rows[i].runs,
              "%u products, %u runs", (uint32_t)trainee.engine->model.macs, (uint32_t)trainee.engine->model.layer_runs);
        float32_trainee_free(&trainee);
    }
    made_free(&made);
}

void test_float32_file(void) {
    test_files();
    test_sums();
    test_settings();
    test_pools();
    test_written_tensors();
    test_placement();
}
