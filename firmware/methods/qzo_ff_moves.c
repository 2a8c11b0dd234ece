#include "methods/qzo_ff.h"

enum {
    LARGEST_Z = 127,
    Z_BITS = 5 /* z stands for z / 32 */
};

const int8_t *qzo_table(const qzo_ff_settings_t *settings) {
    return settings->distribution == DISTRIBUTION_GAUSSIAN ? direction_gaussian : direction_binomial;
}

uint32_t qzo_state(const qzo_ff_settings_t *settings, const qzo_tensor_t *tensor, uint32_t step, uint32_t direction) {
    return direction_state(settings->seed, step, direction, tensor->index);
}

direction_moves_t qzo_moves(const model_t *model) {
    return (direction_moves_t){.by = (void *)model_s8(model, model->plan.at[QZO_NOISE])};
}

static int32_t guide_of(const qzo_ff_settings_t *settings, uint32_t step) {
    return step >= settings->guide_from ? settings->guide : 0;
}

qzo_walk_t qzo_walk(const model_t *model, const qzo_tensor_t *tensor, uint32_t step, uint32_t first, uint32_t count) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    int8_t (*pool)[4] = (void *)model_s8(model, model->plan.at[QZO_NOISE]);
    direction_pool(pool, pool_state(settings->seed, step), qzo_table(settings));
    for (uint32_t i = first; i < first + count; i++) {
        qzo_direction(model, i)->state = qzo_state(settings, tensor, step, i);
    }
    return (qzo_walk_t){.model = model,
                        .tensor = tensor,
                        .pool = (const void *)pool,
                        .guide = guide_of(settings, step),
                        .first = first,
                        .count = count};
}

/* z of the elements of a group, along one direction. */
static void draw_group(const qzo_walk_t *walk, uint32_t turn, uint32_t direction, const int32_t lead[4], int32_t z[4]) {
    const uint32_t field = noise_field(qzo_direction(walk->model, direction)->state, turn);
    const int8_t *entry = walk->pool[field % NOISE_ENTRIES];
    for (uint32_t i = 0; i < 4; i++) {
        const int32_t drawn = (field < NOISE_ENTRIES ? entry[i] : -entry[i]) + lead[i];
        z[i] = drawn > LARGEST_Z ? LARGEST_Z : drawn < -LARGEST_Z ? -LARGEST_Z : drawn;
    }
}

void qzo_lead_of_selected(const qzo_walk_t *walk, uint32_t group, selected_t next, int32_t lead[4]) {
    for (; qzo_is_in(&next, group); selected_next(&next)) {
        lead[next.place % 4] = qzo_lead_of(walk, next.rank);
    }
}

void qzo_signed_sums(const qzo_walk_t *walk, uint32_t turn, const int32_t lead[4], int32_t sum[4]) {
    int32_t z[4];
    sum[0] = sum[1] = sum[2] = sum[3] = 0;
    for (uint32_t d = walk->first; d < walk->first + walk->count; d++) {
        const int32_t sign = qzo_direction(walk->model, d)->sign;
        draw_group(walk, turn, d, lead, z);
        for (uint32_t i = 0; i < 4; i++) {
            sum[i] += sign * z[i];
        }
    }
}

/* What an element moves by for its z. */
typedef struct {
    int32_t epsilon, rho, k, r;
} move_t;

static inline int32_t move_of(const move_t *move, int32_t z) {
    return move->k * round_away(move->epsilon * z, Z_BITS) + move->r * round_away(move->rho * z, Z_BITS);
}

/* Element by element. */
static void move_each(const qzo_walk_t *walk, const move_t *move) {
    const qzo_tensor_t *tensor = walk->tensor;
    selected_t next = selected_first(&tensor->selection);
    for (uint32_t group = 0, turn = 0; 4 * group < tensor->n; group++, turn = qzo_next_turn(turn)) {
        int32_t lead[4], z[4];
        qzo_enter(walk, turn);
        if (!qzo_is_in(&next, group)) {
            continue;
        }
        qzo_lead(walk, group, &next, lead);
        draw_group(walk, turn, walk->first, lead, z);
        for (; qzo_is_in(&next, group); selected_next(&next)) {
            const uint32_t i = next.place;
            qzo_put(tensor, i, qzo_element(tensor, i) + move_of(move, z[i % 4]));
        }
    }
}

/* By the moves of the pool's entries. */
static void move_all(const model_t *model, const qzo_tensor_t *tensor, uint32_t step, uint32_t direction,
                     const move_t *move) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    const int8_t *table = qzo_table(settings);
    int16_t of[NOISE_ENTRIES];
    for (uint32_t i = 0; i < NOISE_ENTRIES / 2; i++) {
        const bool same = i > 0 && table[i] == table[i - 1];
        of[i] = same ? of[i - 1] : (int16_t)move_of(move, table[i]);
        of[NOISE_ENTRIES - 1 - i] = (int16_t)-of[i];
    }
    direction_moves_t moves = qzo_moves(model);
    direction_to_perturb(&moves, pool_state(settings->seed, step), of);
    direction_move_s16(tensor->weights, tensor->n, qzo_state(settings, tensor, step, direction), &moves);
}

void qzo_move_tensor(const model_t *model, const qzo_tensor_t *tensor, uint32_t step, uint32_t direction, int32_t k,
                     int32_t r) {
    const move_t move = {.epsilon = tensor->epsilon, .rho = tensor->rho, .k = k, .r = r};
    const bool guided = guide_of(qzo_settings(model), step) > 0;
    if (tensor->weights != NULL && tensor->selection.code == NULL && !guided) {
        move_all(model, tensor, step, direction, &move);
    } else {
        const qzo_walk_t walk = qzo_walk(model, tensor, step, direction, 1);
        move_each(&walk, &move);
    }
}

void qzo_move(const model_t *model, uint32_t step, uint32_t direction, int32_t k, int32_t r) {
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; i < tensors; i++) {
        const qzo_tensor_t tensor = qzo_tensor(model, i);
        qzo_move_tensor(model, &tensor, step, direction, k, r);
    }
}
