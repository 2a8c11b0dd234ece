/* FQT, fully quantized training with sparse updates, on graphs in affine8 and float32: docs/arithmetic-fqt.md. Private
   to its files. */
#pragma once

#include "engine/method.h"
#include "formats/affine8.h"
#include "kernels/affine8_errors.h"
#include "kernels/updates_f32.h"
#include "methods/reach.h"
#include "methods/settings.h"

/* The method's own buffers; and what it keeps beside them. */
#define FQT_KEPT PLAN_OWN         /* bit o: a sample of the step kept channel o */
#define FQT_STATISTICS PLAN_OWN_2 /* of each channel */
#define FQT_RANK PLAN_OWN_3       /* norms of the channels, then the list of those that are kept */
#define FQT_OBSERVED PLAN_METHOD  /* lo and hi of each value but the input */
#define FQT_ERROR_RANGES (PLAN_METHOD + 1)
#define FQT_OPTIMIZER (PLAN_METHOD + 2) /* v, or m and v, of the trained layers in their order */

/* Of model_t.kept: L_max; p1 and p2 of adam. */
enum { FQT_LARGEST_LOSS, FQT_POWER_1, FQT_POWER_2 };

/* Why a step fails: section 8. */
enum { FQT_COLLAPSED = 1, FQT_WEIGHT_LEAVES = 2, FQT_ERROR_LEAVES = 3, FQT_RANGE_LEAVES = 4 };

/* mu, nu and n of a channel. */
typedef struct {
    float mean, square;
    uint32_t n;
} fqt_statistics_t;

static inline const fqt_settings_t *fqt_settings(const model_t *model) {
    return (const fqt_settings_t *)(const void *)&model->settings;
}

static inline bool fqt_has_statistics(const fqt_settings_t *settings) {
    return settings->standardise == STANDARDISE_RUNNING || settings->standardise == STANDARDISE_ACCUMULATED;
}

/* Whether the format of a layer is affine8; whether its gradient is computed; and whether its range is observed. */
static inline bool fqt_is_affine8(const model_t *model, uint8_t l) {
    return graph_layer(&model->file, l)->format == FORMAT_AFFINE8;
}

static inline bool fqt_is_trained(const model_t *model, uint8_t l) {
    return in_set(model->training.layers, l) && graph_has_weights(graph_layer(&model->file, l));
}

static inline bool fqt_is_observed(const model_t *model, uint8_t l) {
    return l >= model->training.first_backward && affine8_has_range(graph_layer(&model->file, l));
}

/* The weights and channels of a layer that are trained: G of the weights, then of the biases. */
static inline float *fqt_gradient(const model_t *model, uint8_t l) {
    return (float *)(void *)model_buffer(model, PLAN_GRADIENT, l);
}

static inline fqt_statistics_t *fqt_statistics(const model_t *model, uint8_t l) {
    return (fqt_statistics_t *)(void *)model_buffer(model, FQT_STATISTICS, l);
}

static inline int8_t *fqt_observed(const model_t *model, uint8_t l) {
    return model_s8(model, model->plan.at[FQT_OBSERVED]) + 2 * l;
}

/* The weights of channel o are those from `first` on, `step` apart. */
typedef struct {
    uint32_t first, step, count;
} fqt_channel_t;

static inline fqt_channel_t fqt_channel(const graph_layer_t *layer, uint32_t o) {
    const uint32_t taps = graph_taps(layer);
    const bool depthwise = layer->op == OP_DEPTHWISE;
    return (fqt_channel_t){.first = depthwise ? o : o * taps, .step = depthwise ? layer->out_c : 1, .count = taps};
}

/* fqt_settings.c, fqt_demand.c: functions of the method's table. */
uint8_t fqt_check(const settings_t *settings, const graph_file_t *file);
training_t fqt_training(const settings_t *settings, const graph_file_t *file);
void fqt_stand(plan_t *plan, const model_t *model);
void fqt_demand(placing_t *placing, const model_t *model, start_t start);

/* fqt_channels.c: the channels of a layer whose errors count, section 4. */
typedef struct {
    const uint16_t *kept; /* in ascending order */
    uint32_t count;
} fqt_kept_t;

/* The share of the channels for a sample. */
float fqt_share(const fqt_settings_t *settings, float loss, float largest);

/* k of so many channels. */
uint32_t fqt_count(float share, uint32_t channels);

/* Of n norms, the bits of which order them, the `count` largest; of equal ones the first. In ascending order. */
void fqt_select(const uint32_t *norms, uint32_t n, uint32_t count, uint16_t *kept);

/* Select the channels of a layer whose error has been through its gate. */
fqt_kept_t fqt_keep(const model_t *model, uint8_t l, affine8_error_t error, float share);

/* fqt_gradient.c: add a sample's gradient of the kept channels to G, and to their statistics, section 5. */
void fqt_learn(const model_t *model, const pass_t *pass, uint8_t l, affine8_error_t error, const fqt_kept_t *kept);

/* fqt_standard.c: how the gradients of a channel are standardised, sections 5 and 6. */

/* Take the mean of a channel's gradients, and that of their squares, into its statistics. */
void fqt_take_moments(const model_t *model, uint8_t l, uint32_t o, float mean, float square);

/* e = r * (u * G - M). */
typedef struct {
    float u, r, mean;
} fqt_standard_t;

/* Of a channel that a sample of the step kept. `rate` is in the place of eta. */
fqt_standard_t fqt_standard(const model_t *model, uint8_t l, uint32_t o, float u, float rate);

/* fqt_optimizer.c: momentum and adam, section 6. */

/* Bytes of what is kept of the trained layers before layer `to`; 0 with sgd. */
uint64_t fqt_optimizer_bytes(const model_t *model, uint8_t to);

/* No step yet: v, m and p. */
void fqt_optimizer_begin(model_t *model);

/* A step ends: p1 and p2. */
void fqt_optimizer_advance(model_t *model);

/* Of a layer. */
typedef struct {
    bool moves_at_once; /* sgd: e has eta, and is d */
    adamw_t adam;       /* momentum: `beta1` and `rate` alone */
    float *first;       /* v of momentum, m of adam: of the weights, then of the biases */
    float *second;      /* v of adam; else NULL */
} fqt_optimizer_t;

fqt_optimizer_t fqt_optimizer(const model_t *model, uint8_t l);

/* d of element i from its e. */
float fqt_optimized(const fqt_optimizer_t *optimizer, uint32_t i, float e);

/* fqt_backward.c: the way back of a sample, section 3. `learns`: it belongs to a step, else to a trace. */
typedef struct {
    model_t *model;
    const pass_t *pass;
    uint16_t label;
    float share;
    bool learns;
} fqt_sample_t;

/* Returns step_failed where an error leaves its bounds. */
failure_t fqt_backward(const fqt_sample_t *sample);

/* What a step makes of a layer: s_w and z_w, and the range of the output. */
typedef struct {
    float weight_scale;
    affine8_range_t range;
    int8_t weight_zero;
} fqt_moved_t;

/* fqt_update.c: the end of a step of so many samples, sections 6 and 7. All checks come before the first change. Returns
   step_failed where one fails. */
failure_t fqt_update(model_t *model, uint32_t samples);

/* fqt_moves.c: for each weight f, in place of G, and for each bias what it becomes; from which s_w and z_w follow. Also
   returns why that cannot be, 0 if it can. */
uint8_t fqt_move(const model_t *model, uint8_t l, uint32_t samples, fqt_moved_t *moved);

/* fqt_ranges.c: the range that the output of a layer moves to. `moved` has those of the layers before it, and the
   scales of all weights. */
affine8_range_t fqt_moved_range(const model_t *model, uint8_t l, const fqt_moved_t *moved);
