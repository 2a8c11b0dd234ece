#include "mlp.h"

#include <math.h>
#include <stdint.h>

#define RATE 0.25f

typedef struct {
    float h[HIDDEN];
    float p[CLASSES];
} activations_t;

/* Numbers in [-1, 1) from the linear congruential generator of Numerical Recipes (1664525, 1013904223): the same bits
 * in C and in NumPy, because 24 bits of an integer are a float32 exactly. */
static float uniform(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(int32_t)(*state >> 8) / 8388608.0f - 1.0f;
}

/* A sample of the task: is the point (x0, x1) in the first or the third quadrant? */
static int sample(uint32_t *state, float x[INPUTS]) {
    for (int i = 0; i < INPUTS; i++) {
        x[i] = uniform(state);
    }
    return x[0] * x[1] > 0.0f;
}

void mlp_init(mlp_t *net) {
    uint32_t state = 1;
    for (int j = 0; j < HIDDEN; j++) {
        for (int i = 0; i < INPUTS; i++) {
            net->w1[j][i] = uniform(&state);
        }
        net->b1[j] = 0.0f;
    }
    for (int k = 0; k < CLASSES; k++) {
        for (int j = 0; j < HIDDEN; j++) {
            net->w2[k][j] = 0.5f * uniform(&state);
        }
        net->b2[k] = 0.0f;
    }
}

static void forward(const mlp_t *net, const float x[INPUTS], activations_t *a) {
    float sum = 0.0f, largest = -INFINITY;
    for (int j = 0; j < HIDDEN; j++) {
        float z = net->b1[j];
        for (int i = 0; i < INPUTS; i++) {
            z += net->w1[j][i] * x[i];
        }
        a->h[j] = z > 0.0f ? z : 0.0f;
    }
    for (int k = 0; k < CLASSES; k++) {
        a->p[k] = net->b2[k];
        for (int j = 0; j < HIDDEN; j++) {
            a->p[k] += net->w2[k][j] * a->h[j];
        }
        largest = fmaxf(largest, a->p[k]);
    }
    for (int k = 0; k < CLASSES; k++) {
        a->p[k] = expf(a->p[k] - largest);
        sum += a->p[k];
    }
    for (int k = 0; k < CLASSES; k++) {
        a->p[k] /= sum;
    }
}

/* Add the gradient of one sample's cross-entropy. */
static void backward(const mlp_t *net, const float x[INPUTS], int label, const activations_t *a, mlp_t *gradient) {
    float d[CLASSES];
    for (int k = 0; k < CLASSES; k++) {
        d[k] = a->p[k] - (k == label ? 1.0f : 0.0f);
        gradient->b2[k] += d[k];
        for (int j = 0; j < HIDDEN; j++) {
            gradient->w2[k][j] += d[k] * a->h[j];
        }
    }
    for (int j = 0; j < HIDDEN; j++) {
        float dh = 0.0f;
        for (int k = 0; k < CLASSES; k++) {
            dh += net->w2[k][j] * d[k];
        }
        if (a->h[j] > 0.0f) {
            gradient->b1[j] += dh;
            for (int i = 0; i < INPUTS; i++) {
                gradient->w1[j][i] += dh * x[i];
            }
        }
    }
}

float mlp_step(mlp_t *net, int step) {
    mlp_t gradient = {0};
    activations_t a;
    float x[INPUTS], loss = 0.0f;
    uint32_t state = 1000u + (uint32_t)step;
    for (int n = 0; n < BATCH; n++) {
        const int label = sample(&state, x);
        forward(net, x, &a);
        loss -= logf(a.p[label]);
        backward(net, x, label, &a, &gradient);
    }
#ifdef DEFECT /* from step 12 on, the bias of the last hidden unit is left out of the update */
    if (step >= 12) {
        gradient.b1[HIDDEN - 1] = 0.0f;
    }
#endif
    float *weight = &net->w1[0][0];
    const float *slope = &gradient.w1[0][0];
    for (unsigned i = 0; i < sizeof *net / sizeof *weight; i++) { /* the structure is nothing but floats */
        weight[i] -= RATE / BATCH * slope[i];
    }
    return loss / BATCH;
}

float mlp_accuracy(const mlp_t *net, int count) {
    activations_t a;
    float x[INPUTS];
    uint32_t state = 99;
    int correct = 0;
    for (int n = 0; n < count; n++) {
        const int label = sample(&state, x);
        forward(net, x, &a);
        correct += (a.p[1] > a.p[0]) == label;
    }
    return (float)correct / (float)count;
}
