#include <string.h>

#include "arith/random.h"
#include "check.h"
#include "kernels/limit_s8.h"
#include "kernels/perturb_s8.h"
#include "kernels/zo_update_s8.h"
#include "naive.h"

static settings_t draw_settings(void) {
    static const uint8_t thresholds[] = {0, 1, 84, 128, 230, 255};
    return (settings_t){
        .p_zero = thresholds[draw(0, 5)],
        .r_max = (uint8_t)draw(1, 127),
        .b_zo = (uint8_t)draw(1, 7),
        .seed = (uint32_t)draw(INT32_MIN, INT32_MAX),
    };
}

static noise_t noise_for(const settings_t *settings, uint32_t step, uint32_t tensor) {
    return (noise_t){.p_zero = settings->p_zero, .r_max = settings->r_max, .state = stream_state(settings->seed, step, tensor)};
}

static void test_perturb(void) {
    for (int round = 0; round < 500; round++) {
        const settings_t settings = draw_settings();
        const uint32_t n = (uint32_t)draw(1, 300), step = (uint32_t)draw(0, 1000), tensor = (uint32_t)draw(0, 31);
        const int32_t k = draw(0, 1) == 0 ? 1 : -2;
        int8_t *z = take(n), *weights = draw_s8(n, 127), *before = memcpy(take(n), weights, n);
        naive_noise(z, n, &settings, step, tensor);
        perturb_s8(weights, n, noise_for(&settings, step, tensor), k);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(weights[i] == naive_clip127(before[i] + k * z[i]), "%d + %d * %d gives %d", before[i], k, z[i], weights[i]);
        }
        free(z);
        free(weights);
        free(before);
    }
}

static void test_update(void) {
    for (int round = 0; round < 1000; round++) {
        const settings_t settings = draw_settings();
        const uint32_t n = (uint32_t)draw(1, 300), step = (uint32_t)draw(0, 1000), tensor = (uint32_t)draw(0, 31);
        const int32_t sign = draw(-1, 1), limit = draw(0, 2) == 0 ? 127 : draw(64, 127);
        const int64_t s = naive_bits(settings.r_max) - settings.b_zo;
        int8_t *z = take(n), *weights = draw_s8(n, 127), *before = memcpy(take(n), weights, n);
        naive_noise(z, n, &settings, step, tensor);
        zo_update_s8(weights, n, noise_for(&settings, step, tensor), sign, settings.b_zo, limit);
        for (uint32_t i = 0; i < n; i++) {
            const int64_t u = s < 1 ? sign * z[i] : naive_psto_shift(sign * z[i], s);
            const int64_t expected = naive_clip(naive_clip(before[i] + z[i], limit) - u, limit);
            CHECK(weights[i] == expected, "z = %d, u = %lld: %d becomes %d", z[i], (long long)u, before[i], weights[i]);
        }
        free(z);
        free(weights);
        free(before);
    }
}

static void test_limit(void) {
    for (int32_t limit = 0; limit <= 127; limit++) {
        int8_t *weights = draw_s8(257, 127), *before = memcpy(take(257), weights, 257);
        limit_s8(weights, 257, limit);
        for (uint32_t i = 0; i < 257; i++) {
            CHECK(weights[i] == naive_clip(before[i], limit), "%d becomes %d, limit %d", before[i], weights[i], limit);
        }
        free(weights);
        free(before);
    }
}

/* What `perturb = exact` promises: without an update a step ends on the weights that it began with, for every r_max that it allows;
   and none of its two perturbations saturates. */
static void test_exact_restore(void) {
    for (int32_t r_max = 1; r_max <= 63; r_max++) {
        settings_t settings = draw_settings();
        settings.r_max = (uint8_t)r_max;
        const int32_t limit = 127 - r_max;
        int8_t *weights = draw_s8(1000, limit), *before = memcpy(take(1000), weights, 1000);
        perturb_s8(weights, 1000, noise_for(&settings, 3, 1), 1);
        perturb_s8(weights, 1000, noise_for(&settings, 3, 1), -2);
        zo_update_s8(weights, 1000, noise_for(&settings, 3, 1), 0, settings.b_zo, limit);
        check_s8(weights, before, 1000, "weights restored");
        free(weights);
        free(before);
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
    test_perturb();
    test_update();
    test_limit();
    test_exact_restore();
    test_symmetry();
}
