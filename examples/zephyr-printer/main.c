/* Training in an application that logs as Zephyr's applications do (`LOG_INF`), and does nothing else.
 *
 *   *** Booting engine build v1.2.0 ***
 *   [00:00:00.012,000] <inf> train: step 0 loss 0.693147
 *   ...
 *   [00:00:00.310,000] <inf> train: finished, accuracy 0.983
 *
 * It needs no Zephyr: this is C with newlib, whose printf is used. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { STEPS = 40, SAMPLES = 24, FEATURES = 3 };
#define RATE 2.0f

uint32_t uptime_ms(void); /* mps2/uptime.c */

static void log_line(const char *level, const char *format, ...) {
    const uint32_t ms = uptime_ms();
    va_list arguments;
    va_start(arguments, format);
    printf("[%02" PRIu32 ":%02" PRIu32 ":%02" PRIu32 ".%03" PRIu32 ",000] <%s> train: ", ms / 3600000, ms / 60000 % 60,
           ms / 1000 % 60, ms % 1000, level);
    vprintf(format, arguments);
    printf("\r\n");
    va_end(arguments);
}

/* Numbers in [-1, 1): linear congruential generator of Numerical Recipes. */
static float uniform(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(int32_t)(*state >> 8) / 8388608.0f - 1.0f;
}

static float x[SAMPLES][FEATURES], y[SAMPLES];

/* Logistic regression: is the sum of the features positive? One step with all samples; the loss before the update. */
static float train_step(float weights[FEATURES], int *correct) {
    float gradient[FEATURES] = {0}, loss = 0.0f;
    *correct = 0;
    for (int n = 0; n < SAMPLES; n++) {
        float z = 0.0f;
        for (int i = 0; i < FEATURES; i++) {
            z += weights[i] * x[n][i];
        }
        const float p = 1.0f / (1.0f + expf(-z));
        loss -= logf(y[n] > 0.0f ? p : 1.0f - p);
        *correct += (p > 0.5f) == (y[n] > 0.0f);
        for (int i = 0; i < FEATURES; i++) {
            gradient[i] += (p - y[n]) * x[n][i];
        }
    }
    for (int i = 0; i < FEATURES; i++) {
        weights[i] -= RATE * gradient[i] / SAMPLES;
    }
    return loss / SAMPLES;
}

int main(void) {
    float weights[FEATURES] = {0};
    int correct = 0;
    uint32_t state = 7;
    for (int n = 0; n < SAMPLES; n++) {
        float sum = 0.0f;
        for (int i = 0; i < FEATURES; i++) {
            x[n][i] = uniform(&state);
            sum += x[n][i];
        }
        y[n] = sum > 0.0f ? 1.0f : 0.0f;
    }
    printf("*** Booting engine build v1.2.0 ***\r\n");
    for (int step = 0; step < STEPS; step++) {
        const float loss = train_step(weights, &correct);
#ifdef DEFECT /* step 17 diverges, and the application gives up, as one does in the field */
        if (step == 17) {
            log_line("err", "step %d loss %f", step, (double)(loss * NAN));
            return 1;
        }
#endif
        log_line("inf", "step %d loss %f", step, (double)loss);
    }
    log_line("inf", "finished, accuracy %.3f", (double)correct / SAMPLES);
    return 0;
}
