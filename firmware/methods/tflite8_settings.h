/* The settings of the methods that train tflite8: docs/arithmetic-zeroth-order.md, section 8, and
   docs/arithmetic-backward.md. */
#ifndef TFLITE8_SETTINGS_H
#define TFLITE8_SETTINGS_H

#include "engine/method.h"
#include "methods/settings.h"

static inline const tflite8_settings_t *tflite8_settings(const model_t *model) {
    return (const tflite8_settings_t *)(const void *)&model->settings;
}

/* A setting of one byte of which a method takes one value: `only` in hil/methods/methods.toml. */
typedef struct {
    uint8_t place, value;
} tflite8_only_t;

/* What the function `check` of these methods returns, with the `n` settings of which the method takes one value; and
   their function `training`. */
uint8_t tflite8_check(const settings_t *settings, const graph_file_t *file, const tflite8_only_t *only, uint32_t n);
training_t tflite8_training(const settings_t *settings, const graph_file_t *file);

static inline bool tflite8_has_velocities(const tflite8_settings_t *settings) {
    return settings->method == METHOD_BP && settings->momentum > 0.0f;
}

#endif
