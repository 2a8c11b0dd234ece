/* QZO-FF: docs/arithmetic-qzo-ff.md. What its files share. */
#pragma once

#include "arith/round_away.h"
#include "engine/method.h"
#include "kernels/directions.h"
#include "methods/moments.h"
#include "methods/selection.h"
#include "methods/settings.h"

/* Its own buffers: a state and a sign for each direction; the pool of a step, or what a pass makes of it for a tensor;
   and by layer the selection of a sparse update, and of what is selected, with the biases first, the history of signed
   directions and the moments of AdamW. */
enum { QZO_DIRECTIONS = PLAN_METHOD, QZO_NOISE };
#define QZO_SELECTION PLAN_OWN
#define QZO_GUIDE PLAN_SUMS
#define QZO_MOMENTS PLAN_GRADIENT

enum { QZO_NOISE_BYTES = 4096, QZO_LARGEST_BIAS = 1 << 30, QZO_GUIDE_BITS = 16 /* of v * guide, in z */ };

typedef struct {
    uint32_t state; /* of its stream, in the tensor that is walked through */
    int32_t sign;   /* of its two losses */
} qzo_direction_t;

/* A trained tensor: weights in int16, or biases in int32. */
typedef struct {
    uint8_t layer, index; /* `index` among the trained tensors */
    uint32_t n;
    int16_t *weights; /* NULL: they are biases */
    int32_t *biases;
    float unit;           /* what 1 stands for */
    int32_t largest;      /* X, of an element while it is perturbed */
    int32_t epsilon, rho; /* in units */
    int32_t limit;        /* W, of an element at rest */
    selection_t selection;
    int16_t *guide;    /* of its selected elements; NULL: there is none */
    uint32_t *moments; /* of the layer; NULL: there are none */
    uint32_t behind;   /* elements of the layer that come before its own there */
} qzo_tensor_t;

extern const method_t qzo_ff;

static inline const qzo_ff_settings_t *qzo_settings(const model_t *model) {
    return (const qzo_ff_settings_t *)(const void *)&model->settings;
}

/* Whether there is a direction of the sharpness-aware perturbation: the one after the others. */
static inline bool qzo_is_sharp(const qzo_ff_settings_t *settings) {
    return settings->rho > 0.0f;
}

static inline uint32_t qzo_directions(const qzo_ff_settings_t *settings) {
    return settings->directions + qzo_is_sharp(settings);
}

static inline qzo_direction_t *qzo_direction(const model_t *model, uint32_t i) {
    return (qzo_direction_t *)(void *)model_s8(model, model->plan.at[QZO_DIRECTIONS]) + i;
}

static inline int32_t qzo_element(const qzo_tensor_t *tensor, uint32_t i) {
    return tensor->weights != NULL ? tensor->weights[i] : tensor->biases[i];
}

static inline void qzo_put(const qzo_tensor_t *tensor, uint32_t i, int32_t value) {
    if (tensor->weights != NULL) {
        tensor->weights[i] = (int16_t)value;
    } else {
        tensor->biases[i] = value;
    }
}

/* qzo_ff_settings.c: settings, docs/arithmetic-qzo-ff.md, sections 2, 4, 6 and 9. */

uint8_t qzo_check(const settings_t *settings, const graph_file_t *file);
training_t qzo_training(const settings_t *settings, const graph_file_t *file);

/* unit, X, eps_q, rho_q and W of the weights, or of the biases, of a layer; the other fields are 0. */
qzo_tensor_t qzo_units(const qzo_ff_settings_t *settings, const graph_file_t *file, uint8_t l, bool weights);

/* A trained tensor by its index, with all its fields. */
qzo_tensor_t qzo_tensor(const model_t *model, uint8_t index);

/* eta of a step. */
float qzo_rate(const qzo_ff_settings_t *settings, uint32_t step);

/* qzo_ff_demand.c: the buffers of docs/memory.md; and bytes of the history and of the moments of a trained layer, 0
   where there are none. */
uint64_t qzo_guide_bytes(const model_t *model, uint8_t l);
uint64_t qzo_moments_bytes(const model_t *model, uint8_t l);
void qzo_stand(plan_t *plan, const model_t *model);
void qzo_demand(placing_t *placing, const model_t *model, start_t start);

/* qzo_ff_moves.c: elements along directions, section 4. */

/* Four elements of a walk through a tensor, from place 4 * group on. */
typedef struct {
    const model_t *model;
    const qzo_tensor_t *tensor;
    const int8_t (*pool)[4];
    int32_t guide; /* of the step */
    uint32_t first, count;
} qzo_walk_t;

/* Begin with the directions first..first + count - 1, in a pool that is made anew. */
qzo_walk_t qzo_walk(const model_t *model, const qzo_tensor_t *tensor, uint32_t step, uint32_t first, uint32_t count);

/* Come to one group after the other. `turn` is its place among those of a word of the streams: counted, because a core
   without a division takes longer to divide than to pass over a group. */
static inline uint32_t qzo_next_turn(uint32_t turn) {
    return turn + 1 < NOISE_GROUPS ? turn + 1 : 0;
}
static inline void qzo_enter(const qzo_walk_t *walk, uint32_t turn) {
    for (uint32_t d = walk->first; turn == 0 && d < walk->first + walk->count; d++) {
        qzo_direction_t *of = qzo_direction(walk->model, d);
        of->state = xorshift32(of->state);
    }
}

/* Whether a selected element is of a group. */
static inline bool qzo_is_in(const selected_t *one, uint32_t group) {
    return one->place / 4 == group;
}

/* What the momentum adds to every draw of the selected elements of a group, of which `next` is the first. It is handed
   over as a copy, and only in a sparse update: so a walk keeps its own in registers. */
void qzo_lead_of_selected(const qzo_walk_t *walk, uint32_t group, selected_t next, int32_t lead[4]);
static inline int32_t qzo_lead_of(const qzo_walk_t *walk, uint32_t rank) {
    return round_away(walk->tensor->guide[rank] * walk->guide, QZO_GUIDE_BITS);
}
static inline void qzo_lead(const qzo_walk_t *walk, uint32_t group, const selected_t *next, int32_t lead[4]) {
    lead[0] = lead[1] = lead[2] = lead[3] = 0;
    if (walk->guide == 0) {
        return;
    }
    if (walk->tensor->selection.code != NULL) {
        qzo_lead_of_selected(walk, group, *next, lead);
        return;
    }
    for (uint32_t i = 0; i < 4 && 4 * group + i < walk->tensor->n; i++) {
        lead[i] = qzo_lead_of(walk, 4 * group + i);
    }
}

/* The sum, over the walk's directions, of sign times z, of the elements of the group that was entered. */
void qzo_signed_sums(const qzo_walk_t *walk, uint32_t turn, const int32_t lead[4], int32_t sum[4]);

/* Move the elements of a tensor by k * d(z) + r * R(rho_q * z, 5) along a direction; or those of all. */
void qzo_move_tensor(const model_t *model, const qzo_tensor_t *tensor, uint32_t step, uint32_t direction, int32_t k,
                     int32_t r);
void qzo_move(const model_t *model, uint32_t step, uint32_t direction, int32_t k, int32_t r);

/* Where all weights of a tensor move alike, there is a move for each entry of the pool: the state of their stream, the
   room for these moves, and z by a random byte. */
uint32_t qzo_state(const qzo_ff_settings_t *settings, const qzo_tensor_t *tensor, uint32_t step, uint32_t direction);
direction_moves_t qzo_moves(const model_t *model);
const int8_t *qzo_table(const qzo_ff_settings_t *settings);

/* qzo_ff_mask.c: which weights a sparse update selects, section 7. */
void qzo_select(const model_t *model);

/* How many weights of a tensor of `n` are selected, whatever they are; of `threshold` as many as there are. */
uint32_t qzo_selected(const qzo_ff_settings_t *settings, uint8_t index, uint32_t n);

/* Whether the gaps between selected weights are kept, not a bit for each weight: where these are larger. */
bool qzo_keeps_gaps(const qzo_ff_settings_t *settings);

/* The selection of a tensor's weights. */
void qzo_select_tensor(const qzo_ff_settings_t *settings, const qzo_tensor_t *tensor, uint8_t *code);

/* Whether `threshold` selects a weight of the tensor. */
bool qzo_threshold_selects(const qzo_ff_settings_t *settings, float unit, const int16_t *weights, uint32_t n);

/* qzo_ff_update.c: sections 5 to 7. Back from the last pass of a step to the weights at rest, and the update. */
void qzo_update(model_t *model, uint32_t step);
