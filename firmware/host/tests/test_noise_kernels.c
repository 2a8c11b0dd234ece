#include <string.h>

#include "arith/random.h"
#include "check.h"
#include "kernels/perturbation.h"
#include "kernels/updates.h"
#include "naive.h"

enum { PERTURB, TURN, UPDATE }; /* the passes of a step */

typedef struct {
    elasticzo_settings_t settings;
    uint32_t step, tensor;
    int32_t pass, sign;
} trial_t;

static int32_t limit_of(const elasticzo_settings_t *settings) {
    return settings->perturb == PERTURB_EXACT ? 127 - settings->r_max : 127;
}

static trial_t draw_trial(int32_t r_max) {
    static const uint8_t thresholds[] = {0, 1, 84, 128, 230, 255};
    return (trial_t){
        .settings = {.p_zero = thresholds[draw(0, 5)],
                     .r_max = (uint8_t)r_max,
                     .b_zo = (uint8_t)draw(1, 7),
                     .perturb = (uint8_t)(r_max > 63 ? PERTURB_CLAMPED : draw(PERTURB_CLAMPED, PERTURB_EXACT)),
                     .seed = (uint32_t)draw(INT32_MIN, INT32_MAX)},
        .step = (uint32_t)draw(0, 1000),
        .tensor = (uint32_t)draw(0, 31),
        .pass = draw(PERTURB, UPDATE),
        .sign = draw(-1, 1),
    };
}

/* Make the moves of the pass in memory of their own. */
static moves_t moves_of(const trial_t *trial) {
    const elasticzo_settings_t *settings = &trial->settings;
    const noise_t noise = {
        .p_zero = settings->p_zero, .r_max = settings->r_max, .state = pool_state(settings->seed, trial->step)};
    const uint8_t limit = (uint8_t)limit_of(settings);
    moves_t moves = {.words = take(MOVES_WORDS * sizeof(uint32_t))};
    if (trial->pass == UPDATE) {
        moves_to_update(&moves, noise, trial->sign, settings->b_zo, limit);
    } else {
        moves_to_perturb(&moves, noise, trial->pass == PERTURB ? 1 : -2, limit);
    }
    return moves;
}

/* What a weight becomes, by the text. */
static int64_t moved(const trial_t *trial, int64_t w, int64_t z) {
    const elasticzo_settings_t *settings = &trial->settings;
    const int64_t limit = limit_of(settings), s = naive_bits(settings->r_max) - settings->b_zo, g = trial->sign;
    switch (trial->pass) {
    case PERTURB: return naive_clip127(naive_clip(w, limit) + z);
    case TURN: return naive_clip127(w - 2 * z);
    default: return naive_clip(naive_clip(w + z, limit) - (s < 1 ? g * z : naive_psto_shift(g * z, s)), limit);
    }
}

/* `w` as a weight may be before the pass: in the exact form within the limit at rest, and moved from there. */
static int8_t before(const trial_t *trial, int64_t w, int64_t z) {
    if (trial->settings.perturb == PERTURB_CLAMPED) {
        return (int8_t)w;
    }
    const int64_t rest = naive_clip(w, limit_of(&trial->settings));
    return (int8_t)(trial->pass == PERTURB ? rest : trial->pass == TURN ? rest + z : rest - z);
}

static void check_pass(const trial_t *trial, const moves_t *moves, int8_t *weights, const int8_t *z, uint32_t n) {
    int8_t *expected = take(n), *old = take(n);
    for (uint32_t i = 0; i < n; i++) {
        old[i] = weights[i] = before(trial, weights[i], z[i]);
        expected[i] = (int8_t)moved(trial, weights[i], z[i]);
    }
    move_s8(weights, n, tensor_state(trial->settings.seed, trial->step, trial->tensor), moves);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(weights[i] == expected[i],
              "pass %d, r_max %u, limit %d, b_zo %u, sign %d, weight %u of %u: z = %d, %d becomes %d, not %d",
              trial->pass, trial->settings.r_max, limit_of(&trial->settings), trial->settings.b_zo, trial->sign, i, n,
              z[i], old[i], weights[i], expected[i]);
    }
    free(expected);
    free(old);
}

static int8_t *noise_of_trial(const trial_t *trial, uint32_t n) {
    int8_t *z = take(n);
    naive_noise(z, n, &trial->settings, trial->step, trial->tensor);
    return z;
}

/* Any number of weights, half of them close to where they saturate or to zero, so that neighbours saturate both
   ways. */
static void test_drawn(void) {
    static const int8_t edges[] = {-127, -126, -120, -64, -1, 0, 1, 63, 64, 120, 126, 127};
    for (int round = 0; round < 4000; round++) {
        const trial_t trial = draw_trial(draw(1, 127));
        const uint32_t n = (uint32_t)draw(1, 300);
        int8_t *z = noise_of_trial(&trial, n), *weights = draw_s8(n, 127);
        moves_t moves = moves_of(&trial);
        for (uint32_t i = 0; i < n; i++) {
            weights[i] = draw(0, 1) == 0 ? weights[i] : edges[draw(0, 11)];
        }
        check_pass(&trial, &moves, weights, z, n);
        free(moves.words);
        free(weights);
        free(z);
    }
}

/* Every weight -127..127 in each of `n` places, with what lies there of a pool without zeros. */
static void check_all_weights(trial_t trial, uint32_t n) {
    trial.settings.p_zero = 0;
    int8_t *z = noise_of_trial(&trial, n), *weights = take(n);
    moves_t moves = moves_of(&trial);
    const int32_t stride = draw(0, 254);
    for (int32_t w = 0; w < 255; w++) {
        for (uint32_t i = 0; i < n; i++) {
            weights[i] = (int8_t)((w + stride * (int32_t)i) % 255 - 127);
        }
        check_pass(&trial, &moves, weights, z, n);
    }
    free(moves.words);
    free(weights);
    free(z);
}

/* All pairs of weight and z, but for the few z that 400 draws leave out: every pass and every way to update, for the
   r_max where moves no longer fit a byte, or nearly so. */
static void test_all_weights(void) {
    static const uint8_t chosen[] = {1, 7, 31, 42, 43, 63, 64, 65, 84, 85, 126, 127};
    for (uint32_t i = 0; i < sizeof chosen; i++) {
        for (uint8_t form = PERTURB_CLAMPED; form <= (chosen[i] > 63 ? PERTURB_CLAMPED : PERTURB_EXACT); form++) {
            trial_t trial = draw_trial(chosen[i]);
            trial.settings.perturb = form;
            for (trial.pass = PERTURB; trial.pass <= TURN; trial.pass++) {
                check_all_weights(trial, 400);
            }
            for (trial.sign = -1; trial.sign <= 1; trial.sign++) {
                for (trial.settings.b_zo = 1; trial.settings.b_zo <= 7; trial.settings.b_zo++) {
                    check_all_weights(trial, 60);
                }
            }
        }
    }
}

static void test_limit(void) {
    for (int32_t limit = 0; limit <= 127; limit++) {
        int8_t *weights = draw_s8(257, 127), *old = memcpy(take(257), weights, 257);
        limit_s8(weights, 257, limit);
        for (uint32_t i = 0; i < 257; i++) {
            CHECK(weights[i] == naive_clip(old[i], limit), "%d becomes %d, limit %d", old[i], weights[i], limit);
        }
        free(weights);
        free(old);
    }
}

/* What `perturb = exact` promises: without an update a step ends on the weights that it began with, for every r_max
   that it allows. */
static void test_exact_restore(void) {
    for (int32_t r_max = 1; r_max <= 63; r_max++) {
        trial_t trial = draw_trial(r_max);
        trial.settings.perturb = PERTURB_EXACT;
        trial.sign = 0;
        int8_t *weights = draw_s8(1000, 127 - r_max), *rest = memcpy(take(1000), weights, 1000);
        for (trial.pass = PERTURB; trial.pass <= UPDATE; trial.pass++) {
            moves_t moves = moves_of(&trial);
            move_s8(weights, 1000, tensor_state(trial.settings.seed, trial.step, trial.tensor), &moves);
            free(moves.words);
        }
        check_s8(weights, rest, 1000, "weights restored");
        free(weights);
        free(rest);
    }
}

/* Every z of -r_max..r_max, as often as its negative, over all byte values: the symmetry that the text promises. */
static void test_symmetry(void) {
    for (uint32_t r = 1; r <= 127; r++) {
        const noise_t noise = {.p_zero = 0, .r_max = (uint8_t)r};
        int32_t times[255] = {0};
        for (uint32_t b = 0; b < 256; b++) {
            times[127 + noise_of(&noise, (noise_words_t){.a = 0, .b = b << 24}, 3)]++;
        }
        for (uint32_t z = 0; z <= r; z++) {
            CHECK(times[127 + z] == times[127 - z] && times[127 + z] > 0, "r_max = %u, z = %u", r, z);
        }
    }
}

void test_noise_kernels(void) {
    test_drawn();
    test_all_weights();
    test_limit();
    test_exact_restore();
    test_symmetry();
}
