#include "tinytrain_made.h"

#include <math.h>
#include <string.h>

#include "check.h"

const way_t tinytrain_ways[TINYTRAIN_WAYS] = {{false, false, false, false},
                                              {true, false, false, false},
                                              {true, true, false, false},
                                              {false, true, true, false},
                                              {true, true, true, true}};

/* What the page says of a layer with weights, or of an add: the exponents of its input's and its own scale. */
typedef struct {
    int8_t a_x, a, zero, act_min, act_max, p;
} row_t;

static void set_output(graph_made_t *made, const row_t *row) {
    made->output[made->header.layers - 1] = (graph_output_t){
        .scale = ldexpf(1.0f, row->a), .zero = row->zero, .act_min = row->act_min, .act_max = row->act_max};
}

static void begin(graph_made_t *made, uint16_t size, uint16_t channels, int8_t a, int8_t zero) {
    made_begin(made, size, size, channels, 3);
    made->header.scale = ldexpf(1.0f, a);
    made->header.zero = zero;
    made->most_rounding = ROUNDS_DOUBLE;
}

/* Write weights and parameters of layer `l`. */
static void fill_layer(const graph_made_t *made, uint32_t l, const row_t *row) {
    const graph_layer_t *layer = made_record(made, l);
    int8_t *weights = (int8_t *)made->bytes + layer->weights_offset;
    int32_t *words = (int32_t *)(void *)(made->bytes + layer->parameters_offset + sizeof(graph_output_t));
    const uint32_t n = layer->out_c, taps = graph_taps(layer);
    for (uint32_t i = 0; i < taps * n; i++) {
        weights[i] = (int8_t)((int32_t)((37 * i + 11 * l + 5) % 253) - 126);
    }
    for (uint32_t o = 0; o < n; o++) {
        const float scale = ldexpf((float)(4 + o % 3), -row->p);
        words[o] = 512 * ((int32_t)((3 * o + 2 * l + 1) % 5) - 1);
        words[n + o] = (int32_t)(4 + o % 3) << 28;
        memcpy(words + 2 * n + o, &scale, sizeof scale);
        words[3 * n + o] = 0;
        for (uint32_t t = 0; t < taps; t++) {
            words[3 * n + o] += weights[layer->op == OP_DEPTHWISE ? t * n + o : o * taps + t];
        }
        ((int8_t *)(words + 4 * n))[o] = (int8_t)(3 + row->a_x - row->p - row->a);
    }
}

static void append_window(graph_made_t *made, enum op op, uint16_t out_c, const uint8_t window[3], uint8_t block,
                          const row_t *row) {
    made_window(made, op, (uint8_t)made->header.layers, out_c, window[0], window[0], window[1], window[2]);
    made->layer[made->header.layers - 1].block = block;
    set_output(made, row);
}

static void append_logits(graph_made_t *made, const row_t *row) {
    made_fully_connected(made, (uint8_t)made->header.layers, 3);
    made->layer[made->header.layers - 1].block = 4;
    set_output(made, row);
}

/* Kernel, stride, padding. */
static const uint8_t POINT[3] = {1, 1, 0}, PADDED[3] = {3, 1, 1}, STRIDED[3] = {3, 2, 1}, POOL[3] = {2, 2, 0};

static void make_a(graph_made_t *made) {
    static const row_t rows[] = {
        {-8, -6, -128, -128, 127, 9}, {-6, -6, -128, -128, 127, 0}, {-6, -5, 0, -128, 127, 10}};
    begin(made, 6, 1, -8, -128);
    append_window(made, OP_CONV2D, 4, PADDED, 1, &rows[0]);
    append_window(made, OP_MAX_POOL, 0, POOL, 0, &rows[1]);
    append_logits(made, &rows[2]);
    made_finish(made, 1);
    fill_layer(made, 0, &rows[0]);
    fill_layer(made, 2, &rows[2]);
}

static void make_b(graph_made_t *made) {
    static const row_t rows[] = {{-6, -5, -60, -60, 127, 9},   {-5, -5, -100, -100, 60, 8},
                                 {-5, -5, 5, -128, 127, 9},    {-5, -4, -10, -128, 127, 0},
                                 {-4, -4, -128, -128, 127, 9}, {-4, -4, -128, -128, 127, 0},
                                 {-4, -4, 0, -128, 127, 9}};
    begin(made, 4, 2, -6, 0);
    append_window(made, OP_POINTWISE, 4, POINT, 1, &rows[0]);
    append_window(made, OP_DEPTHWISE, 0, PADDED, 2, &rows[1]);
    append_window(made, OP_POINTWISE, 4, POINT, 2, &rows[2]);
    made_add(made, 3, 1);
    set_output(made, &rows[3]);
    made->factors[3] = (graph_factors_t){.multiplier = {1 << 30, 1 << 30, 1 << 30}, .shift = {0, 0, -19}};
    append_window(made, OP_CONV2D, 6, STRIDED, 3, &rows[4]);
    append_window(made, OP_AVERAGE_POOL, 0, POOL, 0, &rows[5]);
    append_logits(made, &rows[6]);
    made_finish(made, 1);
    static const uint8_t weighted[] = {0, 1, 2, 4, 6};
    for (uint32_t i = 0; i < sizeof weighted; i++) {
        fill_layer(made, weighted[i], &rows[weighted[i]]);
    }
}

void tinytrain_made(graph_made_t *made, char network) {
    (network == 'A' ? make_a : make_b)(made);
    made_seal(made);
}

void tinytrain_made_wide(graph_made_t *made) {
    made_begin(made, 6, 5, 3, 4);
    made_window(made, OP_CONV2D, 0, 21, 3, 3, 2, 1);
    made_window(made, OP_POINTWISE, 1, 18, 1, 1, 1, 0);
    made_window(made, OP_POINTWISE, 1, 18, 1, 1, 1, 0);
    made_add(made, 3, 2);
    made_window(made, OP_DEPTHWISE, 4, 0, 3, 3, 1, 1);
    made_window(made, OP_POINTWISE, 5, 30, 1, 1, 1, 0);
    made_fully_connected(made, 6, 19);
    made_fully_connected(made, 7, 4);
    made_finish(made, 127);
}

tflite8_settings_t tinytrain_settings(void) {
    return (tflite8_settings_t){.method = METHOD_TINYTRAIN,
                                .batch = TINYTRAIN_SAMPLES,
                                .slots = TINYTRAIN_SAMPLES,
                                .seed = 1,
                                .blocks = 15,
                                .train_bias = 1,
                                .gns = 1,
                                .qas = 1,
                                .queries = 1,
                                .eta = 0.125f,
                                .ranking = 1,
                                .memory_budget = 1 << 20,
                                .work_budget = 38,
                                .channels = 128};
}

void tinytrain_fill(graph_trainee_t *trainee, uint16_t slot, uint32_t b) {
    enum { MOST = 36 };
    uint8_t pixels[MOST];
    const uint32_t n = (uint32_t)graph_elements(&trainee->engine->model.file, 0);
    CHECK(n <= MOST, "%u elements", n);
    for (uint32_t i = 0; i < n; i++) {
        pixels[i] = (uint8_t)(i * i * (b + 3) + 31 * i + 57 * b + 5);
    }
    CHECK(engine_put_sample(trainee->engine, slot, (uint8_t)(2 * b % 3), pixels, n).code == 0, "a sample");
}

uint8_t tinytrain_refused(const graph_made_t *made, const tflite8_settings_t *settings) {
    graph_file_t file;
    CHECK(graph_file_open(&file, made->bytes, made->size).code == 0, "a network");
    const method_t *method = graph_trainee_method(settings->method);
    return method->check((const settings_t *)(const void *)settings, &file);
}
