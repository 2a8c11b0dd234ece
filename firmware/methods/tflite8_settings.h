/* The settings of the methods that train tflite8: docs/arithmetic-zeroth-order.md, section 8, and
   docs/arithmetic-backward.md. */
#ifndef TFLITE8_SETTINGS_H
#define TFLITE8_SETTINGS_H

#include "engine/method.h"

typedef struct {
    SETTINGS_OF_ALL;
    uint8_t method, train;
    uint8_t blocks; /* bit b - 1: block b is trained */
    uint8_t train_bias, perturb, wise, difference, direction, gns, qas, sparsity, queries;
    uint8_t flags;
    float eta;
    float momentum; /* of bp alone */
} tflite8_settings_t;

_Static_assert(sizeof(tflite8_settings_t) <= SETTINGS_BYTES, "the engine has room for them");

enum tflite8_method { METHOD_POOR_MANS = 0, METHOD_DEEPZERO = 1, METHOD_BP = 2 };
enum tflite8_train { TRAIN_ALL = 0, TRAIN_LAST = 1, TRAIN_BIAS = 2, TRAIN_POINTWISE = 3 };
enum tflite8_perturb { PERTURB_WEIGHT = 0, PERTURB_NODE = 1, PERTURB_ADAPTIVE = 2 };
enum tflite8_wise { WISE_LAYER = 0, WISE_MODEL = 1 };
enum tflite8_difference { DIFFERENCE_FORWARD = 0, DIFFERENCE_CENTRAL = 1 };
enum tflite8_direction { DIRECTION_SAMPLE = 0, DIRECTION_BATCH = 1 };
enum tflite8_flag { FLAG_CONSUMED = 1, FLAG_FUSED = 2 };

static inline const tflite8_settings_t *tflite8_settings(const model_t *model) {
    return (const tflite8_settings_t *)(const void *)&model->settings;
}

/* The first fields of the request `configure_graph`, in its order. */
enum tflite8_field {
    FIELD_METHOD,
    FIELD_TRAIN,
    FIELD_BLOCKS,
    FIELD_TRAIN_BIAS,
    FIELD_PERTURB,
    FIELD_WISE,
    FIELD_DIFFERENCE,
    FIELD_DIRECTION,
    FIELD_GNS,
    FIELD_QAS,
    FIELD_SPARSITY,
    FIELD_QUERIES,
};

/* A field of which a method takes one value: `only` in hil/methods/methods.toml. */
typedef struct {
    enum tflite8_field field;
    uint8_t value;
} tflite8_only_t;

/* What the function `check` of these methods returns, with the `n` fields of which the method takes one value; and
   their function `training`. */
failure_t tflite8_check(const settings_t *settings, const graph_file_t *file, const tflite8_only_t *only, uint32_t n);
training_t tflite8_training(const settings_t *settings, const graph_file_t *file);

static inline bool tflite8_has_velocities(const tflite8_settings_t *settings) {
    return settings->method == METHOD_BP && settings->momentum > 0.0f;
}

#endif
