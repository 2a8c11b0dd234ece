#include "arith/float32.h"
#include "arith/integers.h"
#include "arith/round_away.h"
#include "methods/qzo_ff.h"

enum {
    STEPS = 128,      /* that an element may take: by |g| */
    Z_BITS = 5,       /* z stands for z / 32 */
    GUIDE_STEP = 256, /* of the history, a step of g */
    SHARE_BITS = 8,   /* of `smoothing` */
    QUOTIENT_BITS = 21,
};

#define Z_STEP 0x1p-5f
#define HELD 0x1p30f
#define LEAST_DIVISOR 0x1.5798eep-27f /* 1e-8 */

/* An update of a tensor. */
typedef struct {
    const qzo_ff_settings_t *settings;
    const qzo_tensor_t *tensor;
    const adamw_t *adamw; /* NULL: plain */
    float step;           /* k, the value of a step of g */
    int32_t steps[STEPS]; /* plain: by |g| */
    uint32_t reciprocal;  /* of m */
} update_t;

/* sgn(sum) * floor((|sum| + floor(m / 2)) / m), |sum| <= 127 m: no product leaves 32 bits, and the reciprocal is that
   exact. */
static inline int32_t gradient_of(const qzo_ff_settings_t *settings, uint32_t reciprocal, int32_t sum) {
    const uint32_t g = (magnitude(sum) + settings->directions / 2u) * reciprocal >> QUOTIENT_BITS;
    return sum < 0 ? -(int32_t)g : (int32_t)g;
}

static uint32_t reciprocal_of(const qzo_ff_settings_t *settings) {
    const uint32_t m = settings->directions;
    return ((1u << QUOTIENT_BITS) + m - 1) / m;
}

static int32_t plain_step(const update_t *update, int32_t g) {
    const int32_t step = update->steps[magnitude(g)];
    return g < 0 ? -step : step;
}

/* In units. */
static int32_t moments_step(const update_t *update, uint32_t rank, int32_t g) {
    const qzo_tensor_t *tensor = update->tensor;
    const float h = (float)g * update->step;
    adamw_moments_t moments = moments_at(tensor->moments, tensor->behind + rank);
    const float y = adamw_step(update->adamw, h, &moments.first, &moments.second) / tensor->unit;
    moments_put(tensor->moments, tensor->behind + rank, moments);
    return float32_to_integer(y > HELD ? HELD : y < -HELD ? -HELD : y);
}

static void update_element(const update_t *update, uint32_t i, uint32_t rank, int32_t g) {
    const qzo_tensor_t *tensor = update->tensor;
    const int32_t step = update->adamw != NULL ? moments_step(update, rank, g) : plain_step(update, g);
    /* Both are 2^30 at most: their difference is held where it would leave int32. */
    qzo_put(tensor, i, clip(add_sat32(qzo_element(tensor, i), -step), tensor->limit));
    if (tensor->guide != NULL) {
        const int32_t v = tensor->guide[rank];
        const int32_t change = round_away((GUIDE_STEP * g - v) * update->settings->smoothing, SHARE_BITS);
        tensor->guide[rank] = (int16_t)(v + change);
    }
}

/* Selected element by element, from all directions. */
static void update_each(const model_t *model, const update_t *update, uint32_t step) {
    const qzo_tensor_t *tensor = update->tensor;
    const qzo_walk_t walk = qzo_walk(model, tensor, step, 0, update->settings->directions);
    selected_t next = selected_first(&tensor->selection);
    for (uint32_t group = 0, turn = 0; 4 * group < tensor->n; group++, turn = qzo_next_turn(turn)) {
        int32_t lead[4], sum[4];
        qzo_enter(&walk, turn);
        if (!qzo_is_in(&next, group)) {
            continue;
        }
        qzo_lead(&walk, group, &next, lead);
        qzo_signed_sums(&walk, turn, lead, sum);
        for (; qzo_is_in(&next, group); selected_next(&next)) {
            const uint32_t i = next.place;
            const int32_t g = gradient_of(update->settings, update->reciprocal, sum[i % 4]);
            update_element(update, i, next.rank, g);
        }
    }
}

/* k of a layer with normalisation, from its weights at rest and their g. */
static float normalised_step(const model_t *model, const qzo_tensor_t *tensor, uint32_t step) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    const qzo_walk_t walk = qzo_walk(model, tensor, step, 0, settings->directions);
    selected_t next = selected_first(&tensor->selection);
    const uint32_t reciprocal = reciprocal_of(settings);
    uint64_t weights = 0, gradients = 0;
    for (uint32_t i = 0; i < tensor->n; i++) {
        const int32_t w = tensor->weights[i];
        weights += (uint32_t)(w * w);
    }
    for (uint32_t group = 0, turn = 0; 4 * group < tensor->n; group++, turn = qzo_next_turn(turn)) {
        int32_t lead[4], sum[4];
        qzo_enter(&walk, turn);
        if (!qzo_is_in(&next, group)) {
            continue;
        }
        qzo_lead(&walk, group, &next, lead);
        qzo_signed_sums(&walk, turn, lead, sum);
        for (; qzo_is_in(&next, group); selected_next(&next)) {
            const int32_t g = gradient_of(settings, reciprocal, sum[next.place % 4]);
            gradients += (uint32_t)(g * g);
        }
    }
    if (weights == 0 || gradients == 0) {
        return 0.0f;
    }
    const float ratio = float32_of_u64(weights) / float32_of_u64(gradients);
    return sqrt32(ratio) * tensor->unit;
}

static adamw_t begin_adamw(model_t *model, float rate) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    model->kept[0] = model->kept[0] * settings->beta1;
    model->kept[1] = model->kept[1] * settings->beta2;
    return (adamw_t){.beta1 = settings->beta1,
                     .beta2 = settings->beta2,
                     .rest1 = 1.0f - settings->beta1,
                     .rest2 = 1.0f - settings->beta2,
                     .weigh1 = 1.0f - model->kept[0],
                     .weigh2 = 1.0f - model->kept[1],
                     .epsilon = LEAST_DIVISOR,
                     .rate = rate};
}

/* f of a tensor: a step of g, in its units. */
static float factor_of(const qzo_tensor_t *tensor, float rate, float k) {
    const float scaled = rate * k;
    return scaled / tensor->unit;
}

static void fill_steps(update_t *update, float rate) {
    const float f = factor_of(update->tensor, rate, update->step);
    for (uint32_t g = 0; g < STEPS; g++) {
        update->steps[g] = rounded_step(g, f);
    }
}

/* With one direction and plain steps: back from w - d(z) and the update, in one move for each entry of the pool.
   Returns whether all of them are in int16; else nothing is done. */
static bool update_at_once(const model_t *model, const qzo_tensor_t *tensor, uint32_t step, float f) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    const int8_t *table = qzo_table(settings);
    const int32_t sign = qzo_direction(model, 0)->sign;
    int16_t of[NOISE_ENTRIES];
    int32_t move = 0, last = 0; /* of the entry before, which is often the same */
    for (uint32_t i = 0; i < NOISE_ENTRIES / 2; i++) {
        const int32_t z = table[i];
        if (z != last) {
            const int32_t down = rounded_step(magnitude(z), f);
            move = round_away(tensor->epsilon * z, Z_BITS) - (z < 0 ? -sign : sign) * down;
            last = z;
        }
        if (magnitude(move) > INT16_MAX) {
            return false;
        }
        of[i] = (int16_t)move;
        of[NOISE_ENTRIES - 1 - i] = (int16_t)-move;
    }
    direction_moves_t moves = qzo_moves(model);
    direction_to_update(&moves, pool_state(settings->seed, step), of, tensor->limit);
    direction_move_s16(tensor->weights, tensor->n, qzo_state(settings, tensor, step, 0), &moves);
    return true;
}

/* Whether the weights of a tensor may be taken back with their update. */
static bool may_be_at_once(const qzo_ff_settings_t *settings, const qzo_tensor_t *tensor) {
    return tensor->weights != NULL && tensor->selection.code == NULL && tensor->guide == NULL &&
           settings->directions == 1 && settings->optimizer == OPTIMIZER_PLAIN && settings->normalise == 0;
}

void qzo_update(model_t *model, uint32_t step) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    const float rate = qzo_rate(settings, step);
    const bool plain = settings->optimizer == OPTIMIZER_PLAIN;
    const adamw_t adamw = plain ? (adamw_t){.rate = rate} : begin_adamw(model, rate);
    const uint8_t tensors = model_tensors(model);
    float k = Z_STEP;
    for (uint8_t i = 0; i < tensors; i++) {
        const qzo_tensor_t tensor = qzo_tensor(model, i);
        if (may_be_at_once(settings, &tensor) && update_at_once(model, &tensor, step, factor_of(&tensor, rate, k))) {
            continue;
        }
        qzo_move_tensor(model, &tensor, step, settings->directions - 1u, 1, 0);
        if (settings->normalise != 0 && tensor.weights != NULL) {
            k = normalised_step(model, &tensor, step); /* that of the biases, too */
        }
        update_t update = {.settings = settings,
                           .tensor = &tensor,
                           .adamw = plain ? NULL : &adamw,
                           .step = k,
                           .reciprocal = reciprocal_of(settings)};
        fill_steps(&update, rate);
        update_each(model, &update, step);
    }
}
