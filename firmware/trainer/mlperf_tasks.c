#include "trainer/mlperf_tiny.h"

#include <string.h>

#include "arith/float32.h"

/* Slot 0 has the sample, the slots from 1 on its bytes as they came; behind those of a reconstruction, which are
   floats, the last slot has the bytes that become the sample. */
enum { RECEIVED = 1, QUANTIZED = RECEIVED + sizeof(float), SIGN = 0x80 };

static uint32_t inputs_of(const engine_t *engine) {
    return (uint32_t)graph_elements(&engine->model.file, 0);
}

static bool can_run(const engine_t *engine, uint8_t task) {
    const model_t *model = &engine->model;
    const bool affine = graph_layer(&model->file, 0)->format == FORMAT_TFLITE8;
    switch (task) {
    case TASK_IMAGES: return model->settings.slots > RECEIVED;
    case TASK_FEATURES: return affine && model->settings.slots > RECEIVED;
    default: return affine && model->settings.slots > QUANTIZED && model_classes(model) == inputs_of(engine);
    }
}

uint32_t task_sample_bytes(const engine_t *engine, uint8_t task) {
    if (engine_check_whole(engine).code != 0 || !can_run(engine, task)) {
        return 0;
    }
    return inputs_of(engine) * (task == TASK_RECONSTRUCTION ? sizeof(float) : 1);
}

uint8_t *task_received(const engine_t *engine) {
    return (uint8_t *)model_sample(&engine->model, RECEIVED);
}

static float input_of(const engine_t *engine, uint32_t i) {
    float x;
    memcpy(&x, task_received(engine) + i * sizeof x, sizeof x);
    return x;
}

/* To the nearest integer, halves away from zero; the difference to the integer part is exact. */
static int32_t rounded(float x) {
    const int32_t whole = (int32_t)x;
    const float rest = x - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/* The int8 value of an input, as TFLite quantizes it. */
static int8_t quantized(float x, float scale, int32_t zero) {
    const float limit = 512.0f; /* more than int8 and any zero point take */
    const float steps = x / scale;
    const float inside = steps > limit ? limit : steps < -limit ? -limit : steps == steps ? steps : 0.0f;
    const int32_t value = rounded(inside) + zero;
    return (int8_t)(value > INT8_MAX ? INT8_MAX : value < INT8_MIN ? INT8_MIN : value);
}

/* A byte of a sample stands for itself less 128. */
static void flip(uint8_t *bytes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        bytes[i] ^= SIGN;
    }
}

void task_put_sample(engine_t *engine, uint8_t task) {
    const uint32_t n = inputs_of(engine);
    uint8_t *bytes = task_received(engine);
    if (task == TASK_RECONSTRUCTION) {
        const float scale = graph_scale(&engine->model.file, 0);
        const int32_t zero = graph_zero(&engine->model.file, 0);
        bytes = (uint8_t *)model_sample(&engine->model, QUANTIZED);
        for (uint32_t i = 0; i < n; i++) {
            bytes[i] = (uint8_t)(quantized(input_of(engine, i), scale, zero) ^ SIGN);
        }
    } else if (task == TASK_FEATURES) {
        flip(bytes, n);
    }
    (void)engine_put_sample(engine, 0, 0, bytes, n);
    if (task == TASK_FEATURES) {
        flip(bytes, n);
    }
}

uint32_t task_results(const engine_t *engine, uint8_t task) {
    return task == TASK_RECONSTRUCTION ? 1 : model_classes(&engine->model);
}

/* Of output and input, in binary32 and in order, as their reference computes it. */
static float mean_squared_error(const engine_t *engine) {
    const model_t *model = &engine->model;
    const float scale = graph_scale(&model->file, model->file.layers);
    const int32_t zero = graph_zero(&model->file, model->file.layers);
    const int8_t *values = model_logits(model, 0);
    const uint32_t n = inputs_of(engine);
    float sum = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        const float value = scale * (float)(values[i] - zero);
        const float error = value - input_of(engine, i);
        const float square = error * error;
        sum = sum + square;
    }
    return sum / (float)n;
}

/* A probability is e^-(cross entropy with the class as the label). */
float task_result(const engine_t *engine, uint8_t task, uint32_t i) {
    const model_t *model = &engine->model;
    if (task == TASK_RECONSTRUCTION) {
        return mean_squared_error(engine);
    }
    const format_t *format = model_format(model, (uint8_t)(model->file.layers - 1));
    return exp32(-format->loss(model, model_logits(model, 0), i));
}
