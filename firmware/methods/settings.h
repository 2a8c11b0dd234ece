/* Generated from hil/training/methods/methods.toml by `python -m hil.training.methods.generate`; edit that file. */
#pragma once

#include "engine/settings.h"

/* Words by their numbers. */
enum {
    METHOD_POOR_MANS = 0,
    METHOD_DEEPZERO = 1,
    METHOD_BP = 2,
    METHOD_ELASTICZO_INT8 = 3,
    METHOD_ELASTICZO_FP32 = 4,
    METHOD_QZO_FF = 5,
    METHOD_FQT = 6,
    METHOD_TINYTRAIN = 7,
    LOSS_FLOAT = 0,
    LOSS_INTEGER = 1,
    SCOPE_SAMPLE = 0,
    SCOPE_BATCH = 1,
    PERTURB_CLAMPED = 0,
    PERTURB_EXACT = 1,
    LOGIT_ERROR_NITI = 0,
    LOGIT_ERROR_ZERO_SUM = 1,
    TRAIN_ALL = 0,
    TRAIN_LAST = 1,
    TRAIN_BIAS = 2,
    TRAIN_POINTWISE = 3,
    TRAIN_POINTWISE_LAST = 4,
    PERTURB_WEIGHT = 0,
    PERTURB_NODE = 1,
    PERTURB_ADAPTIVE = 2,
    WISE_LAYER = 0,
    WISE_MODEL = 1,
    DIFFERENCE_FORWARD = 0,
    DIFFERENCE_CENTRAL = 1,
    DIRECTION_SAMPLE = 0,
    DIRECTION_BATCH = 1,
    OPTIMIZER_PLAIN = 0,
    OPTIMIZER_ADAMW = 1,
    DISTRIBUTION_GAUSSIAN = 0,
    DISTRIBUTION_BINOMIAL = 1,
    SPARSE_OFF = 0,
    SPARSE_TOP = 1,
    SPARSE_RANDOM = 2,
    SPARSE_THRESHOLD = 3,
    GRADIENT_SUM = 0,
    GRADIENT_MEAN = 1,
    STANDARDISE_OFF = 0,
    STANDARDISE_RUNNING = 1,
    STANDARDISE_BATCH = 2,
    ERROR_RANGE_SAMPLE = 0,
    ERROR_RANGE_RUNNING = 1,
    RATE_RATIO = 0,
    RATE_DIFFERENCE = 1,
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
    uint16_t ranking;
    uint32_t memory_budget;
    uint16_t work_budget;
    uint16_t channels;
} tflite8_settings_t;

extern const settings_table_t tflite8_settings_table;

typedef struct {
    uint8_t method;
    uint16_t batch;
    uint16_t slots;
    uint32_t seed;
    uint32_t first_step;
    uint8_t partition;
    float epsilon;
    float eta;
    float g_clip;
} elasticzo_fp32_settings_t;

extern const settings_table_t elasticzo_fp32_settings_table;

typedef struct {
    uint8_t method;
    uint16_t batch;
    uint16_t slots;
    uint32_t seed;
    uint32_t first_step;
    uint8_t directions;
    float epsilon;
    float rho;
    float eta;
    float eta_min;
    uint32_t warmup;
    uint32_t steps;
    uint8_t optimizer;
    float beta1;
    float beta2;
    uint8_t distribution;
    uint8_t last_layers;
    uint8_t train_bias;
    uint16_t guide;
    uint32_t guide_from;
    uint8_t smoothing;
    uint8_t sparse;
    uint8_t keep;
    float threshold;
    uint8_t normalise;
} qzo_ff_settings_t;

extern const settings_table_t qzo_ff_settings_table;

typedef struct {
    uint8_t method;
    uint16_t batch;
    uint16_t slots;
    uint32_t seed;
    uint32_t first_step;
    uint8_t last_layers;
    uint8_t train_bias;
    float eta;
    uint8_t gradient;
    uint8_t standardise;
    float statistics_momentum;
    float epsilon;
    float range_momentum;
    float range_growth;
    uint8_t error_range;
    float lambda_min;
    float lambda_max;
    uint8_t rate;
    uint8_t sparse_head;
} fqt_settings_t;

extern const settings_table_t fqt_settings_table;
