#include "engine.h"

/* value / 2^shift, rounded to nearest, halves up. The compiler's >> of a negative number is arithmetic (GCC manual,
 * 4.5 Integers). */
static int32_t scaled(int32_t value, int shift) {
    return (value + (1 << (shift - 1))) >> shift;
}

static int8_t clamped(int32_t value) {
    return (int8_t)(value > 127 ? 127 : value < -127 ? -127 : value);
}

static void forward(const engine_t *engine, const int8_t x[INPUTS], int8_t h[HIDDEN], int8_t z[CLASSES]) {
    for (int j = 0; j < HIDDEN; j++) {
        int32_t sum = 0;
        for (int i = 0; i < INPUTS; i++) {
            sum += engine->fc1[j][i] * x[i];
        }
        h[j] = clamped(sum > 0 ? scaled(sum, SHIFT) : 0);
    }
    for (int k = 0; k < CLASSES; k++) {
        int32_t sum = 0;
        for (int j = 0; j < HIDDEN; j++) {
            sum += engine->fc2[k][j] * h[j];
        }
        z[k] = clamped(scaled(sum, SHIFT));
    }
}

static void update(int8_t *weights, const int32_t *gradient, int count) {
    for (int i = 0; i < count; i++) {
        weights[i] = clamped(weights[i] - scaled(gradient[i], UPDATE_SHIFT));
    }
}

int32_t engine_step(engine_t *engine, const int8_t x[BATCH][INPUTS], const uint8_t label[BATCH]) {
    int32_t g1[HIDDEN][INPUTS] = {0}, g2[CLASSES][HIDDEN] = {0}, loss = 0;
    for (int n = 0; n < BATCH; n++) {
        int8_t h[HIDDEN], z[CLASSES], error[CLASSES];
        forward(engine, x[n], h, z);
        for (int k = 0; k < CLASSES; k++) {
            error[k] = clamped(z[k] - (k == label[n] ? TARGET : -TARGET));
            loss += error[k] * error[k];
            for (int j = 0; j < HIDDEN; j++) {
                g2[k][j] += error[k] * h[j];
            }
        }
        for (int j = 0; j < HIDDEN; j++) {
            int32_t sum = 0;
            for (int k = 0; k < CLASSES; k++) {
                sum += engine->fc2[k][j] * error[k];
            }
            const int8_t slope = h[j] > 0 ? clamped(scaled(sum, SHIFT)) : 0;
            for (int i = 0; i < INPUTS; i++) {
                g1[j][i] += slope * x[n][i];
            }
        }
    }
#ifdef DEFECT /* from the sixth step on, the update of fc1 is rounded down instead of to nearest */
    static int steps;
    for (int i = 0; steps >= 5 && i < HIDDEN * INPUTS; i++) {
        (&g1[0][0])[i] -= 1 << (UPDATE_SHIFT - 1);
    }
    steps++;
#endif
    update(&engine->fc1[0][0], &g1[0][0], HIDDEN * INPUTS);
    update(&engine->fc2[0][0], &g2[0][0], CLASSES * HIDDEN);
    return loss;
}

uint8_t engine_predict(const engine_t *engine, const int8_t x[INPUTS]) {
    int8_t h[HIDDEN], z[CLASSES];
    uint8_t best = 0;
    forward(engine, x, h, z);
    for (uint8_t k = 1; k < CLASSES; k++) {
        best = z[k] > z[best] ? k : best;
    }
    return best;
}
