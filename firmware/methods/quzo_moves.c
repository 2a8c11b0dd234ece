#include "formats/tflite8.h"
#include "methods/forward_passes.h"
#include "methods/quzo.h"

/* A trained tensor while it moves. The E of weights of tflite8 lie where their sums do: nothing reads these between
   passes, and they are computed again. */
typedef struct {
    stochastic_weights_t weights;
    uint8_t layer;
    int32_t scale; /* E of w16a8 */
} moving_t;

static void fill_scales(const quzo_settings_t *settings, const quzo_units_t *units, int32_t *scales) {
    for (uint32_t i = 0; i < units->count; i++) {
        scales[i] = quzo_scale(settings->epsilon, units->unit[i]);
    }
}

static void begin_moving(const model_t *model, uint8_t index, moving_t *moving) {
    const trained_tensor_t trained = model_tensor(model, index);
    const graph_layer_t *layer = graph_layer(&model->file, trained.layer);
    const quzo_units_t units = quzo_units(&model->file, trained.layer);
    const bool narrow = layer->format == FORMAT_TFLITE8;
    int32_t *scales = narrow ? tflite8_tensors(model, trained.layer).sums : &moving->scale;
    fill_scales(quzo_settings(model), &units, scales);
    moving->layer = trained.layer;
    moving->weights = (stochastic_weights_t){.s8 = narrow ? (int8_t *)trained.bytes : NULL,
                                             .s16 = narrow ? NULL : (int16_t *)(void *)trained.bytes,
                                             .n = graph_weight_count(layer),
                                             .run = layer->op == OP_DEPTHWISE ? 1 : graph_taps(layer),
                                             .units = units.count,
                                             .largest = units.largest,
                                             .scales = scales};
}

void quzo_limit(const model_t *model) {
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; i < tensors; i++) {
        moving_t moving;
        begin_moving(model, i, &moving);
        stochastic_limit(&moving.weights);
        model_rewritten(model, moving.layer, TENSOR_WEIGHTS);
    }
}

void quzo_move(const model_t *model, uint32_t step, uint32_t direction, int32_t k) {
    const int8_t (*pool)[4] = forward_pool(model, QUZO_NOISE, step);
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; i < tensors; i++) {
        moving_t moving;
        begin_moving(model, i, &moving);
        stochastic_move(&moving.weights, pool, stochastic_streams(quzo_settings(model)->seed, step, direction, i), k);
        model_rewritten(model, moving.layer, TENSOR_WEIGHTS);
    }
}

void quzo_update(const model_t *model, uint32_t step) {
    const quzo_settings_t *settings = quzo_settings(model);
    const int8_t (*pool)[4] = forward_pool(model, QUZO_NOISE, step);
    const uint8_t tensors = model_tensors(model);
    stochastic_streams_t streams[QUZO_MOST_DIRECTIONS];
    for (uint8_t i = 0; i < tensors; i++) {
        moving_t moving;
        begin_moving(model, i, &moving);
        for (uint32_t direction = 0; direction < settings->directions; direction++) {
            streams[direction] = stochastic_streams(settings->seed, step, direction, i);
        }
        stochastic_update(&moving.weights, pool, streams, quzo_factors(model), settings->directions,
                          stochastic_update_state(settings->seed, step, i));
        model_rewritten(model, moving.layer, TENSOR_WEIGHTS);
    }
}
