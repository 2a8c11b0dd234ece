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
    METHOD_QUZO = 8,
    METHOD_PERTURBED_SCALES = 9,
};
enum { LOSS_FLOAT = 0, LOSS_INTEGER = 1 };
enum { SCOPE_SAMPLE = 0, SCOPE_BATCH = 1 };
enum { PERTURB_CLAMPED = 0, PERTURB_EXACT = 1 };
enum { LOGIT_ERROR_NITI = 0, LOGIT_ERROR_ZERO_SUM = 1 };
enum { TRAIN_ALL = 0, TRAIN_LAST = 1, TRAIN_BIAS = 2, TRAIN_POINTWISE = 3, TRAIN_POINTWISE_LAST = 4 };
enum { PERTURB_WEIGHT = 0, PERTURB_NODE = 1, PERTURB_ADAPTIVE = 2 };
enum { WISE_LAYER = 0, WISE_MODEL = 1 };
enum { DIFFERENCE_FORWARD = 0, DIFFERENCE_CENTRAL = 1 };
enum { DIRECTION_SAMPLE = 0, DIRECTION_BATCH = 1 };
enum { OPTIMIZER_PLAIN = 0, OPTIMIZER_ADAMW = 1 };
enum { DISTRIBUTION_GAUSSIAN = 0, DISTRIBUTION_BINOMIAL = 1 };
enum { SPARSE_OFF = 0, SPARSE_TOP = 1, SPARSE_RANDOM = 2, SPARSE_THRESHOLD = 3 };
enum { GRADIENT_SUM = 0, GRADIENT_MEAN = 1 };
enum { STANDARDISE_OFF = 0, STANDARDISE_RUNNING = 1, STANDARDISE_BATCH = 2, STANDARDISE_ACCUMULATED = 3 };
enum { ERROR_RANGE_SAMPLE = 0, ERROR_RANGE_RUNNING = 1 };
enum { RATE_RATIO = 0, RATE_DIFFERENCE = 1 };
enum { OPTIMIZER_SGD = 0, OPTIMIZER_MOMENTUM = 1, OPTIMIZER_ADAM = 2 };

/* Settings in the order of `configure`, SETTING(kind, type, name, least, most, scheduled): the last three as in
   setting_t. Those of every method, with which the others begin. */
#define COMMON_SETTINGS(kind, SETTING)                                                                                 \
    SETTING(kind, uint8_t, method, 0u, 9u, false)                                                                      \
    SETTING(kind, uint16_t, batch, 1u, 65535u, false)                                                                  \
    SETTING(kind, uint16_t, slots, 1u, 65535u, false)                                                                  \
    SETTING(kind, uint32_t, seed, 0u, 4294967295u, false)                                                              \
    SETTING(kind, uint32_t, first_step, 0u, 4294967295u, false)

#define SETTINGS_FIELD(kind, type, name, least, most, scheduled) type name;

#define ELASTICZO_SETTINGS(kind, SETTING)                                                                              \
    COMMON_SETTINGS(kind, SETTING)                                                                                     \
    SETTING(kind, uint8_t, partition, 0u, 255u, false)                                                                 \
    SETTING(kind, uint8_t, b_zo, 1u, 7u, true)                                                                         \
    SETTING(kind, uint8_t, b_bp, 1u, 7u, true)                                                                         \
    SETTING(kind, uint8_t, p_zero, 0u, 255u, true)                                                                     \
    SETTING(kind, uint8_t, r_max, 1u, 127u, true)                                                                      \
    SETTING(kind, uint8_t, loss, 0u, 1u, false)                                                                        \
    SETTING(kind, uint8_t, scope, 0u, 1u, false)                                                                       \
    SETTING(kind, uint8_t, perturb, 0u, 1u, false)                                                                     \
    SETTING(kind, uint8_t, logit_error, 0u, 1u, false)                                                                 \
    SETTING(kind, uint8_t, loss_fraction, 0u, 6u, false)
typedef struct {
    ELASTICZO_SETTINGS(, SETTINGS_FIELD)
} elasticzo_settings_t;
extern const settings_table_t elasticzo_settings_table;

#define TFLITE8_SETTINGS(kind, SETTING)                                                                                \
    COMMON_SETTINGS(kind, SETTING)                                                                                     \
    SETTING(kind, uint8_t, train, 0u, 4u, false)                                                                       \
    SETTING(kind, uint8_t, blocks, 1u, 15u, false)                                                                     \
    SETTING(kind, uint8_t, train_bias, 0u, 1u, false)                                                                  \
    SETTING(kind, uint8_t, perturb, 0u, 2u, false)                                                                     \
    SETTING(kind, uint8_t, wise, 0u, 1u, false)                                                                        \
    SETTING(kind, uint8_t, difference, 0u, 1u, false)                                                                  \
    SETTING(kind, uint8_t, direction, 0u, 1u, false)                                                                   \
    SETTING(kind, uint8_t, gns, 0u, 1u, false)                                                                         \
    SETTING(kind, uint8_t, qas, 0u, 1u, false)                                                                         \
    SETTING(kind, uint8_t, sparsity, 0u, 255u, false)                                                                  \
    SETTING(kind, uint8_t, queries, 1u, 127u, false)                                                                   \
    SETTING(kind, float, eta, 1u, 1233125376u, true)                                                                   \
    SETTING(kind, uint8_t, consumed, 0u, 1u, false)                                                                    \
    SETTING(kind, uint8_t, fused, 0u, 1u, false)                                                                       \
    SETTING(kind, float, momentum, 0u, 1065353215u, false)                                                             \
    SETTING(kind, uint16_t, ranking, 1u, 65535u, false)                                                                \
    SETTING(kind, uint32_t, memory_budget, 1u, 4294967295u, false)                                                     \
    SETTING(kind, uint16_t, work_budget, 1u, 256u, false)                                                              \
    SETTING(kind, uint16_t, channels, 1u, 256u, false)
typedef struct {
    TFLITE8_SETTINGS(, SETTINGS_FIELD)
} tflite8_settings_t;
extern const settings_table_t tflite8_settings_table;

#define ELASTICZO_FP32_SETTINGS(kind, SETTING)                                                                         \
    COMMON_SETTINGS(kind, SETTING)                                                                                     \
    SETTING(kind, uint8_t, partition, 0u, 255u, false)                                                                 \
    SETTING(kind, float, epsilon, 864026624u, 1065353216u, false)                                                      \
    SETTING(kind, float, eta, 729808896u, 1098907648u, true)                                                           \
    SETTING(kind, float, g_clip, 897581056u, 1199570944u, false)
typedef struct {
    ELASTICZO_FP32_SETTINGS(, SETTINGS_FIELD)
} elasticzo_fp32_settings_t;
extern const settings_table_t elasticzo_fp32_settings_table;

#define QZO_FF_SETTINGS(kind, SETTING)                                                                                 \
    COMMON_SETTINGS(kind, SETTING)                                                                                     \
    SETTING(kind, uint8_t, directions, 1u, 127u, false)                                                                \
    SETTING(kind, float, epsilon, 729808896u, 1065353216u, false)                                                      \
    SETTING(kind, float, rho, 0u, 1065353216u, false)                                                                  \
    SETTING(kind, float, eta, 729808896u, 1065353216u, false)                                                          \
    SETTING(kind, float, eta_min, 0u, 1065353216u, false)                                                              \
    SETTING(kind, uint32_t, warmup, 0u, 4294967295u, false)                                                            \
    SETTING(kind, uint32_t, steps, 0u, 4294967295u, false)                                                             \
    SETTING(kind, uint8_t, optimizer, 0u, 1u, false)                                                                   \
    SETTING(kind, float, beta1, 0u, 1065353215u, false)                                                                \
    SETTING(kind, float, beta2, 0u, 1065353215u, false)                                                                \
    SETTING(kind, uint8_t, distribution, 0u, 1u, false)                                                                \
    SETTING(kind, uint8_t, last_layers, 1u, 64u, false)                                                                \
    SETTING(kind, uint8_t, train_bias, 0u, 1u, false)                                                                  \
    SETTING(kind, uint16_t, guide, 0u, 256u, false)                                                                    \
    SETTING(kind, uint32_t, guide_from, 0u, 4294967295u, false)                                                        \
    SETTING(kind, uint8_t, smoothing, 1u, 255u, false)                                                                 \
    SETTING(kind, uint8_t, sparse, 0u, 3u, false)                                                                      \
    SETTING(kind, uint8_t, keep, 1u, 255u, false)                                                                      \
    SETTING(kind, float, threshold, 0u, 1233125376u, false)                                                            \
    SETTING(kind, uint8_t, normalise, 0u, 1u, false)
typedef struct {
    QZO_FF_SETTINGS(, SETTINGS_FIELD)
} qzo_ff_settings_t;
extern const settings_table_t qzo_ff_settings_table;

#define FQT_SETTINGS(kind, SETTING)                                                                                    \
    COMMON_SETTINGS(kind, SETTING)                                                                                     \
    SETTING(kind, uint8_t, last_layers, 1u, 64u, false)                                                                \
    SETTING(kind, uint8_t, train_bias, 0u, 1u, false)                                                                  \
    SETTING(kind, float, eta, 729808896u, 1098907648u, true)                                                           \
    SETTING(kind, uint8_t, gradient, 0u, 1u, false)                                                                    \
    SETTING(kind, uint8_t, standardise, 0u, 3u, false)                                                                 \
    SETTING(kind, float, statistics_momentum, 0u, 1065353216u, false)                                                  \
    SETTING(kind, float, epsilon, 729808896u, 1065353216u, false)                                                      \
    SETTING(kind, float, range_momentum, 0u, 1065353216u, false)                                                       \
    SETTING(kind, float, range_growth, 0u, 1065353216u, false)                                                         \
    SETTING(kind, uint8_t, error_range, 0u, 1u, false)                                                                 \
    SETTING(kind, float, lambda_min, 0u, 1065353216u, false)                                                           \
    SETTING(kind, float, lambda_max, 0u, 1065353216u, false)                                                           \
    SETTING(kind, uint8_t, rate, 0u, 1u, false)                                                                        \
    SETTING(kind, uint8_t, sparse_head, 0u, 1u, false)                                                                 \
    SETTING(kind, uint8_t, optimizer, 0u, 2u, false)                                                                   \
    SETTING(kind, float, beta1, 0u, 1065353215u, false)                                                                \
    SETTING(kind, float, beta2, 0u, 1065353215u, false)
typedef struct {
    FQT_SETTINGS(, SETTINGS_FIELD)
} fqt_settings_t;
extern const settings_table_t fqt_settings_table;

#define QUZO_SETTINGS(kind, SETTING)                                                                                   \
    COMMON_SETTINGS(kind, SETTING)                                                                                     \
    SETTING(kind, uint8_t, directions, 1u, 127u, false)                                                                \
    SETTING(kind, float, epsilon, 729808896u, 1065353216u, false)                                                      \
    SETTING(kind, float, eta, 729808896u, 1065353216u, true)                                                           \
    SETTING(kind, uint8_t, last_layers, 1u, 64u, false)
typedef struct {
    QUZO_SETTINGS(, SETTINGS_FIELD)
} quzo_settings_t;
extern const settings_table_t quzo_settings_table;

#define PERTURBED_SCALES_SETTINGS(kind, SETTING)                                                                       \
    COMMON_SETTINGS(kind, SETTING)                                                                                     \
    SETTING(kind, float, epsilon, 914358272u, 1023410176u, false)                                                      \
    SETTING(kind, float, eta, 729808896u, 1065353216u, true)                                                           \
    SETTING(kind, float, clip, 0u, 1233125376u, false)                                                                 \
    SETTING(kind, uint8_t, last_layers, 1u, 64u, false)
typedef struct {
    PERTURBED_SCALES_SETTINGS(, SETTINGS_FIELD)
} perturbed_scales_settings_t;
extern const settings_table_t perturbed_scales_settings_table;
