/* Generated from hil/training/methods/methods.toml by `python -m hil.training.methods.generate`; edit that file. */
#include "methods/settings.h"

#include <stddef.h>

_Static_assert(sizeof(elasticzo_settings_t) <= SETTINGS_BYTES, "the engine has room for it");

static const setting_t elasticzo_rows[] = {
    {0u, 7u, offsetof(elasticzo_settings_t, method), sizeof(uint8_t)},
    {1u, 65535u, offsetof(elasticzo_settings_t, batch), sizeof(uint16_t)},
    {1u, 65535u, offsetof(elasticzo_settings_t, slots), sizeof(uint16_t)},
    {0u, 4294967295u, offsetof(elasticzo_settings_t, seed), sizeof(uint32_t)},
    {0u, 4294967295u, offsetof(elasticzo_settings_t, first_step), sizeof(uint32_t)},
    {0u, 255u, offsetof(elasticzo_settings_t, partition), sizeof(uint8_t)},
    {1u, 7u, offsetof(elasticzo_settings_t, b_zo), sizeof(uint8_t)},
    {1u, 7u, offsetof(elasticzo_settings_t, b_bp), sizeof(uint8_t)},
    {0u, 255u, offsetof(elasticzo_settings_t, p_zero), sizeof(uint8_t)},
    {1u, 127u, offsetof(elasticzo_settings_t, r_max), sizeof(uint8_t)},
    {0u, 1u, offsetof(elasticzo_settings_t, loss), sizeof(uint8_t)},
    {0u, 1u, offsetof(elasticzo_settings_t, scope), sizeof(uint8_t)},
    {0u, 1u, offsetof(elasticzo_settings_t, perturb), sizeof(uint8_t)},
    {0u, 1u, offsetof(elasticzo_settings_t, logit_error), sizeof(uint8_t)},
    {0u, 6u, offsetof(elasticzo_settings_t, loss_fraction), sizeof(uint8_t)},
};

const settings_table_t elasticzo_settings_table = {elasticzo_rows, 15, sizeof(elasticzo_settings_t)};

_Static_assert(sizeof(tflite8_settings_t) <= SETTINGS_BYTES, "the engine has room for it");

static const setting_t tflite8_rows[] = {
    {0u, 7u, offsetof(tflite8_settings_t, method), sizeof(uint8_t)},
    {1u, 65535u, offsetof(tflite8_settings_t, batch), sizeof(uint16_t)},
    {1u, 65535u, offsetof(tflite8_settings_t, slots), sizeof(uint16_t)},
    {0u, 4294967295u, offsetof(tflite8_settings_t, seed), sizeof(uint32_t)},
    {0u, 4294967295u, offsetof(tflite8_settings_t, first_step), sizeof(uint32_t)},
    {0u, 4u, offsetof(tflite8_settings_t, train), sizeof(uint8_t)},
    {1u, 15u, offsetof(tflite8_settings_t, blocks), sizeof(uint8_t)},
    {0u, 1u, offsetof(tflite8_settings_t, train_bias), sizeof(uint8_t)},
    {0u, 2u, offsetof(tflite8_settings_t, perturb), sizeof(uint8_t)},
    {0u, 1u, offsetof(tflite8_settings_t, wise), sizeof(uint8_t)},
    {0u, 1u, offsetof(tflite8_settings_t, difference), sizeof(uint8_t)},
    {0u, 1u, offsetof(tflite8_settings_t, direction), sizeof(uint8_t)},
    {0u, 1u, offsetof(tflite8_settings_t, gns), sizeof(uint8_t)},
    {0u, 1u, offsetof(tflite8_settings_t, qas), sizeof(uint8_t)},
    {0u, 255u, offsetof(tflite8_settings_t, sparsity), sizeof(uint8_t)},
    {1u, 127u, offsetof(tflite8_settings_t, queries), sizeof(uint8_t)},
    {1u, 1233125376u, offsetof(tflite8_settings_t, eta), sizeof(float)},
    {0u, 1u, offsetof(tflite8_settings_t, consumed), sizeof(uint8_t)},
    {0u, 1u, offsetof(tflite8_settings_t, fused), sizeof(uint8_t)},
    {0u, 1065353215u, offsetof(tflite8_settings_t, momentum), sizeof(float)},
    {1u, 65535u, offsetof(tflite8_settings_t, ranking), sizeof(uint16_t)},
    {1u, 4294967295u, offsetof(tflite8_settings_t, memory_budget), sizeof(uint32_t)},
    {1u, 256u, offsetof(tflite8_settings_t, work_budget), sizeof(uint16_t)},
    {1u, 256u, offsetof(tflite8_settings_t, channels), sizeof(uint16_t)},
};

const settings_table_t tflite8_settings_table = {tflite8_rows, 24, sizeof(tflite8_settings_t)};

_Static_assert(sizeof(elasticzo_fp32_settings_t) <= SETTINGS_BYTES, "the engine has room for it");

static const setting_t elasticzo_fp32_rows[] = {
    {0u, 7u, offsetof(elasticzo_fp32_settings_t, method), sizeof(uint8_t)},
    {1u, 65535u, offsetof(elasticzo_fp32_settings_t, batch), sizeof(uint16_t)},
    {1u, 65535u, offsetof(elasticzo_fp32_settings_t, slots), sizeof(uint16_t)},
    {0u, 4294967295u, offsetof(elasticzo_fp32_settings_t, seed), sizeof(uint32_t)},
    {0u, 4294967295u, offsetof(elasticzo_fp32_settings_t, first_step), sizeof(uint32_t)},
    {0u, 255u, offsetof(elasticzo_fp32_settings_t, partition), sizeof(uint8_t)},
    {864026624u, 1065353216u, offsetof(elasticzo_fp32_settings_t, epsilon), sizeof(float)},
    {729808896u, 1098907648u, offsetof(elasticzo_fp32_settings_t, eta), sizeof(float)},
    {897581056u, 1199570944u, offsetof(elasticzo_fp32_settings_t, g_clip), sizeof(float)},
};

const settings_table_t elasticzo_fp32_settings_table = {elasticzo_fp32_rows, 9, sizeof(elasticzo_fp32_settings_t)};

_Static_assert(sizeof(qzo_ff_settings_t) <= SETTINGS_BYTES, "the engine has room for it");

static const setting_t qzo_ff_rows[] = {
    {0u, 7u, offsetof(qzo_ff_settings_t, method), sizeof(uint8_t)},
    {1u, 65535u, offsetof(qzo_ff_settings_t, batch), sizeof(uint16_t)},
    {1u, 65535u, offsetof(qzo_ff_settings_t, slots), sizeof(uint16_t)},
    {0u, 4294967295u, offsetof(qzo_ff_settings_t, seed), sizeof(uint32_t)},
    {0u, 4294967295u, offsetof(qzo_ff_settings_t, first_step), sizeof(uint32_t)},
    {1u, 127u, offsetof(qzo_ff_settings_t, directions), sizeof(uint8_t)},
    {729808896u, 1065353216u, offsetof(qzo_ff_settings_t, epsilon), sizeof(float)},
    {0u, 1065353216u, offsetof(qzo_ff_settings_t, rho), sizeof(float)},
    {729808896u, 1065353216u, offsetof(qzo_ff_settings_t, eta), sizeof(float)},
    {0u, 1065353216u, offsetof(qzo_ff_settings_t, eta_min), sizeof(float)},
    {0u, 4294967295u, offsetof(qzo_ff_settings_t, warmup), sizeof(uint32_t)},
    {0u, 4294967295u, offsetof(qzo_ff_settings_t, steps), sizeof(uint32_t)},
    {0u, 1u, offsetof(qzo_ff_settings_t, optimizer), sizeof(uint8_t)},
    {0u, 1065353215u, offsetof(qzo_ff_settings_t, beta1), sizeof(float)},
    {0u, 1065353215u, offsetof(qzo_ff_settings_t, beta2), sizeof(float)},
    {0u, 1u, offsetof(qzo_ff_settings_t, distribution), sizeof(uint8_t)},
    {1u, 64u, offsetof(qzo_ff_settings_t, last_layers), sizeof(uint8_t)},
    {0u, 1u, offsetof(qzo_ff_settings_t, train_bias), sizeof(uint8_t)},
    {0u, 256u, offsetof(qzo_ff_settings_t, guide), sizeof(uint16_t)},
    {0u, 4294967295u, offsetof(qzo_ff_settings_t, guide_from), sizeof(uint32_t)},
    {1u, 255u, offsetof(qzo_ff_settings_t, smoothing), sizeof(uint8_t)},
    {0u, 3u, offsetof(qzo_ff_settings_t, sparse), sizeof(uint8_t)},
    {1u, 255u, offsetof(qzo_ff_settings_t, keep), sizeof(uint8_t)},
    {0u, 1233125376u, offsetof(qzo_ff_settings_t, threshold), sizeof(float)},
    {0u, 1u, offsetof(qzo_ff_settings_t, normalise), sizeof(uint8_t)},
};

const settings_table_t qzo_ff_settings_table = {qzo_ff_rows, 25, sizeof(qzo_ff_settings_t)};

_Static_assert(sizeof(fqt_settings_t) <= SETTINGS_BYTES, "the engine has room for it");

static const setting_t fqt_rows[] = {
    {0u, 7u, offsetof(fqt_settings_t, method), sizeof(uint8_t)},
    {1u, 65535u, offsetof(fqt_settings_t, batch), sizeof(uint16_t)},
    {1u, 65535u, offsetof(fqt_settings_t, slots), sizeof(uint16_t)},
    {0u, 4294967295u, offsetof(fqt_settings_t, seed), sizeof(uint32_t)},
    {0u, 4294967295u, offsetof(fqt_settings_t, first_step), sizeof(uint32_t)},
    {1u, 64u, offsetof(fqt_settings_t, last_layers), sizeof(uint8_t)},
    {0u, 1u, offsetof(fqt_settings_t, train_bias), sizeof(uint8_t)},
    {729808896u, 1098907648u, offsetof(fqt_settings_t, eta), sizeof(float)},
    {0u, 1u, offsetof(fqt_settings_t, gradient), sizeof(uint8_t)},
    {0u, 2u, offsetof(fqt_settings_t, standardise), sizeof(uint8_t)},
    {0u, 1065353216u, offsetof(fqt_settings_t, statistics_momentum), sizeof(float)},
    {729808896u, 1065353216u, offsetof(fqt_settings_t, epsilon), sizeof(float)},
    {0u, 1065353216u, offsetof(fqt_settings_t, range_momentum), sizeof(float)},
    {0u, 1065353216u, offsetof(fqt_settings_t, range_growth), sizeof(float)},
    {0u, 1u, offsetof(fqt_settings_t, error_range), sizeof(uint8_t)},
    {0u, 1065353216u, offsetof(fqt_settings_t, lambda_min), sizeof(float)},
    {0u, 1065353216u, offsetof(fqt_settings_t, lambda_max), sizeof(float)},
    {0u, 1u, offsetof(fqt_settings_t, rate), sizeof(uint8_t)},
    {0u, 1u, offsetof(fqt_settings_t, sparse_head), sizeof(uint8_t)},
};

const settings_table_t fqt_settings_table = {fqt_rows, 19, sizeof(fqt_settings_t)};
