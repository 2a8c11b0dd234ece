/* Generated from hil/training/methods/methods.toml by `python -m hil.training.methods.generate`; edit that file. */
#include "methods/settings.h"

#include <stddef.h>

#define ROW(kind, type, name, least, most, scheduled) {least, most, offsetof(kind, name), sizeof(type), scheduled},

/* The table of settings that are a structure `kind`. */
#define TABLE(table, kind, SETTINGS)                                                                                   \
    _Static_assert(sizeof(kind) <= SETTINGS_BYTES, "the engine has room for it");                                      \
    static const setting_t table##_rows[] = {SETTINGS(kind, ROW)};                                                     \
    const settings_table_t table##_settings_table = {table##_rows, sizeof table##_rows / sizeof table##_rows[0],       \
                                                     sizeof(kind)};

TABLE(elasticzo, elasticzo_settings_t, ELASTICZO_SETTINGS)
TABLE(tflite8, tflite8_settings_t, TFLITE8_SETTINGS)
TABLE(elasticzo_fp32, elasticzo_fp32_settings_t, ELASTICZO_FP32_SETTINGS)
TABLE(qzo_ff, qzo_ff_settings_t, QZO_FF_SETTINGS)
TABLE(fqt, fqt_settings_t, FQT_SETTINGS)
TABLE(quzo, quzo_settings_t, QUZO_SETTINGS)
TABLE(perturbed_scales, perturbed_scales_settings_t, PERTURBED_SCALES_SETTINGS)
