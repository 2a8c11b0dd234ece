/* What QZO-FF refuses, and the memory that it asks for. */
#include <stddef.h>
#include <string.h>

#include "check.h"
#include "qzo_bench.h"

static void expect_setting(const w16a8_made_t *made, qzo_ff_settings_t settings, uint8_t place, const char *what) {
    w16a8_made_t copy = *made;
    copy.bytes = take(made->size);
    memcpy(copy.bytes, made->bytes, made->size);
    qzo_bench_t bench = qzo_bench_of(&copy, true);
    uint32_t planned;
    const failure_t failure = engine_configure(bench.engine, registry_method(METHOD_QZO_FF), &settings, &planned);
    const bool taken = place == METHOD_TAKES_ALL;
    CHECK(taken ? failure.code == 0
                : failure.code == FAILURE_BAD_SETTING && failure.a == setting_index(&qzo_ff_settings_table, place),
          "%s: code %u, a %u, b %u", what, failure.code, failure.a, failure.b);
    qzo_bench_free(&bench);
}

#define EXPECT(setting, value, refused)                                                                                \
    do {                                                                                                               \
        qzo_ff_settings_t changed = settings;                                                                          \
        changed.setting = (value);                                                                                     \
        expect_setting(&made, changed, (refused), #setting " = " #value);                                              \
    } while (0)
#define PLACE(setting) ((uint8_t)offsetof(qzo_ff_settings_t, setting))

/* The units of the network are 2^-15 and 2^-14. */
static void test_refusals(void) {
    w16a8_made_t made;
    w16a8_made_network(&made);
    qzo_ff_settings_t settings = qzo_plain;
    EXPECT(epsilon, 0x1p-16f, PLACE(epsilon));
    EXPECT(epsilon, 0x1.000002p-16f, METHOD_TAKES_ALL);
    EXPECT(epsilon, 4128.0f * 0x1p-15f, METHOD_TAKES_ALL);
    EXPECT(epsilon, 4129.0f * 0x1p-15f, PLACE(epsilon));
    EXPECT(rho, 0x1p-16f, PLACE(rho));
    EXPECT(rho, 4095.0f * 0x1p-15f, METHOD_TAKES_ALL);
    EXPECT(rho, 4100.0f * 0x1p-15f, PLACE(rho));
    EXPECT(eta, 5.30e-6f, PLACE(eta));
    EXPECT(eta, 5.31e-6f, METHOD_TAKES_ALL);
    EXPECT(eta_min, 0.002f, PLACE(eta_min));
    EXPECT(steps, 1, METHOD_TAKES_ALL);
    settings.warmup = 20;
    EXPECT(steps, 20, PLACE(steps));
    EXPECT(steps, 21, METHOD_TAKES_ALL);
    settings = qzo_plain;
    settings.eta = 1e-5f;
    EXPECT(directions, 127, PLACE(directions));
    EXPECT(optimizer, OPTIMIZER_ADAMW, PLACE(eta));
    settings.normalise = 1;
    EXPECT(directions, 127, METHOD_TAKES_ALL);
    settings = qzo_plain;
    settings.sparse = SPARSE_THRESHOLD;
    EXPECT(threshold, 1.8f, METHOD_TAKES_ALL);
    EXPECT(threshold, 1.9f, PLACE(threshold));
    settings = qzo_plain;
    for (uint8_t l = 0; l < 2; l++) { /* weights of 8 bits stay as they are: that is no mistake */
        int16_t *weights = (int16_t *)(void *)(made.bytes + made.record[l].weights_offset);
        for (uint32_t i = 0; i < graph_weight_count(&made.record[l]); i++) {
            weights[i] = (int16_t)(weights[i] / 300);
        }
        w16a8_made_parameters(&made, l)->largest = W16A8_NARROW;
    }
    w16a8_seal(&made);
    EXPECT(epsilon, 0x1p-16f, METHOD_TAKES_ALL);
    EXPECT(epsilon, 0x1p-10f, PLACE(epsilon)); /* further than half of the range */
    settings.epsilon = 0x1p-16f;
    EXPECT(eta, 5.30e-6f, METHOD_TAKES_ALL);
    free(made.bytes);
}

/* docs/memory.md: theta, labels, samples, directions; the noise overlaps the values. */
static void test_memory(void) {
    w16a8_made_t made;
    w16a8_made_network(&made);
    qzo_bench_t bench = qzo_bench_of(&made, true);
    qzo_ff_settings_t settings = qzo_plain;
    qzo_configure(&bench, &settings);
    CHECK(bench.planned == 24 + 16 + 8 + 8 + 8 + 4096, "plain: %u", bench.planned);
    settings.directions = 3;
    settings.rho = 0.01f;
    settings.sparse = SPARSE_TOP;
    settings.guide = 1;
    settings.optimizer = OPTIMIZER_ADAMW;
    settings.train_bias = 1;
    qzo_configure(&bench, &settings);
    CHECK(bench.planned == 24 + 16 + 16 + 8 + 8 + 8 + 32 + 8 + 8 + 8 + 8 + 32 + 24 + 4096, "all: %u", bench.planned);
    qzo_bench_free(&bench);
}

static void append_layer(w16a8_made_t *made, enum op op, uint8_t kernel, uint8_t stride, uint8_t padding, uint16_t side,
                         uint16_t channels) {
    static const int16_t weights[784 * 120];
    static const int32_t bias[120];
    const w16a8_made_layer_t layer = {.op = op,
                                      .reads = {(uint8_t)made->header.layers, 0},
                                      .kernel_h = kernel,
                                      .kernel_w = kernel,
                                      .stride = stride,
                                      .padding = padding,
                                      .out_h = side,
                                      .out_w = side,
                                      .out_c = channels,
                                      .scale = made->header.scale,
                                      .zero = made->header.zero,
                                      .act_min = -128,
                                      .act_max = 127,
                                      .weight_scale = 0x1p-15f,
                                      .multiplier = 1 << 30,
                                      .shift = -20,
                                      .largest = W16A8_WIDE,
                                      .weights = weights,
                                      .bias = bias};
    w16a8_append(made, &layer);
}

/* LeNet-5: what training needs beyond its weights, in the file in flash, is 8 bytes more than a forward pass. */
static void test_lenet(void) {
    enum { WEIGHTS = 304 + 4800 + 188160 + 20160 + 1680, BATCH = 8 + 2 * 784, VALUES = 4704 + 1176, LARGE = 1 << 18 };
    w16a8_made_t made;
    w16a8_begin(&made, 28, 28, 1, 10, -128);
    append_layer(&made, OP_CONV2D, 5, 1, 2, 28, 6);
    append_layer(&made, OP_MAX_POOL, 2, 2, 0, 14, 6);
    append_layer(&made, OP_CONV2D, 5, 1, 2, 14, 16);
    append_layer(&made, OP_MAX_POOL, 2, 2, 0, 7, 16);
    append_layer(&made, OP_FULLY_CONNECTED, 0, 0, 0, 1, 120);
    append_layer(&made, OP_FULLY_CONNECTED, 0, 0, 0, 1, 84);
    append_layer(&made, OP_FULLY_CONNECTED, 0, 0, 0, 1, 10);
    w16a8_finish(&made);
    engine_t *engine = take(sizeof *engine);
    uint8_t *arena = take(LARGE);
    uint32_t planned;
    engine_init(engine, registry_formats, arena, LARGE, qzo_no_cycles);
    CHECK(engine_use_flash(engine, made.bytes, made.size).code == 0, "LeNet-5");
    CHECK(engine_configure(engine, registry_method(METHOD_QZO_FF), &qzo_plain, &planned).code == 0, "settings");
    CHECK(planned == WEIGHTS + BATCH + 8 + VALUES, "LeNet-5: %u", planned);
    free(engine), free(arena), free(made.bytes);
}

void test_qzo_settings(void) {
    test_refusals();
    test_memory();
    test_lenet();
}
