/* Generated from hil/methods/methods.toml by `python -m hil.methods.generate`; edit that file. */
#ifndef METHODS_SETTINGS_H
#define METHODS_SETTINGS_H

#include "engine/settings.h"

/* Words by their numbers. */
enum {
    METHOD_POOR_MANS = 0,
    METHOD_DEEPZERO = 1,
    METHOD_BP = 2,
    METHOD_ELASTICZO_INT8 = 3,
};
enum {
    LOSS_FLOAT = 0,
    LOSS_INTEGER = 1,
};
enum {
    SCOPE_SAMPLE = 0,
    SCOPE_BATCH = 1,
};
enum {
    PERTURB_CLAMPED = 0,
    PERTURB_EXACT = 1,
};
enum {
    LOGIT_ERROR_NITI = 0,
    LOGIT_ERROR_ZERO_SUM = 1,
};
enum {
    TRAIN_ALL = 0,
    TRAIN_LAST = 1,
    TRAIN_BIAS = 2,
    TRAIN_POINTWISE = 3,
};
enum {
    PERTURB_WEIGHT = 0,
    PERTURB_NODE = 1,
    PERTURB_ADAPTIVE = 2,
};
enum {
    WISE_LAYER = 0,
    WISE_MODEL = 1,
};
enum {
    DIFFERENCE_FORWARD = 0,
    DIFFERENCE_CENTRAL = 1,
};
enum {
    DIRECTION_SAMPLE = 0,
    DIRECTION_BATCH = 1,
};

typedef struct {
    uint8_t method;
    uint16_t batch;
    uint16_t slots;
    uint32_t seed;
    uint32_t first_step;
    uint8_t partition;
    uint8_t b_zo;
    uint8_t b_bp;
    uint8_t p_zero;
    uint8_t r_max;
    uint8_t loss;
    uint8_t scope;
    uint8_t perturb;
    uint8_t logit_error;
    uint8_t loss_fraction;
} elasticzo_settings_t;

enum {
    SETTING_ELASTICZO_PARTITION = 5,
    SETTING_ELASTICZO_B_ZO = 6,
    SETTING_ELASTICZO_B_BP = 7,
    SETTING_ELASTICZO_P_ZERO = 8,
    SETTING_ELASTICZO_R_MAX = 9,
    SETTING_ELASTICZO_LOSS = 10,
    SETTING_ELASTICZO_SCOPE = 11,
    SETTING_ELASTICZO_PERTURB = 12,
    SETTING_ELASTICZO_LOGIT_ERROR = 13,
    SETTING_ELASTICZO_LOSS_FRACTION = 14,
};

extern const settings_table_t elasticzo_settings_table;

typedef struct {
    uint8_t method;
    uint16_t batch;
    uint16_t slots;
    uint32_t seed;
    uint32_t first_step;
    uint8_t train;
    uint8_t blocks;
    uint8_t train_bias;
    uint8_t perturb;
    uint8_t wise;
    uint8_t difference;
    uint8_t direction;
    uint8_t gns;
    uint8_t qas;
    uint8_t sparsity;
    uint8_t queries;
    float eta;
    uint8_t consumed;
    uint8_t fused;
    float momentum;
} tflite8_settings_t;

enum {
    SETTING_TFLITE8_TRAIN = 5,
    SETTING_TFLITE8_BLOCKS = 6,
    SETTING_TFLITE8_TRAIN_BIAS = 7,
    SETTING_TFLITE8_PERTURB = 8,
    SETTING_TFLITE8_WISE = 9,
    SETTING_TFLITE8_DIFFERENCE = 10,
    SETTING_TFLITE8_DIRECTION = 11,
    SETTING_TFLITE8_GNS = 12,
    SETTING_TFLITE8_QAS = 13,
    SETTING_TFLITE8_SPARSITY = 14,
    SETTING_TFLITE8_QUERIES = 15,
    SETTING_TFLITE8_ETA = 16,
    SETTING_TFLITE8_CONSUMED = 17,
    SETTING_TFLITE8_FUSED = 18,
    SETTING_TFLITE8_MOMENTUM = 19,
};

extern const settings_table_t tflite8_settings_table;

#endif
