/* The arithmetic of docs/arithmetic.md on the host. hil/training/reference/native/bfp8/library.py says what each function takes.
 *
 * Values are int8, the batch is the first axis: [B, H, W, C]. Every sample is a group of its own. Functions that need
 * memory of their own return 0, or -1 where there is none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { QUAD = 4 }; /* bytes of a word */

/* A convolution of stride 1, with what follows it: relu if `relu`, then max-pooling by `pool` (1: none). */
typedef struct {
    int32_t height, width, channels;      /* of the input */
    int32_t outputs, kh, kw, above, left; /* `above` and `left` zeros on either side */
    int32_t relu, pool;
} Conv;

const char *native_name(void);

int native_conv(const Conv *conv, const int8_t *weights, int64_t weight_exp, int64_t batch, const int8_t *x,
                const int64_t *exponents, int8_t *out, int64_t *out_exponents);

int native_dense(int64_t inputs, int64_t outputs, int relu, const int8_t *weights, int64_t weight_exp, int64_t batch,
                 const int8_t *x, const int64_t *exponents, int8_t *out, int64_t *out_exponents);

int native_pool(int32_t height, int32_t width, int32_t channels, int32_t k, int64_t batch, const int8_t *x,
                int8_t *out);

int native_dense_gradient(int64_t inputs, int64_t outputs, int64_t batch, const int8_t *errors, const int8_t *x,
                          const int64_t *exponents, int32_t *gradient);

int native_conv_gradient(const Conv *conv, int64_t batch, const int8_t *errors, const int8_t *x,
                         const int64_t *exponents, int32_t *gradient);

/* With `relu`, of windows whose maximum is above 0 only. */
int native_unpool(int32_t height, int32_t width, int32_t channels, int32_t k, int relu, int64_t batch,
                  const int8_t *errors, const int8_t *x, int8_t *out);

/* The loss summed over the batch. */
int native_cross_entropy(int64_t batch, int64_t classes, const int8_t *logits, const int64_t *exponents,
                         const int64_t *labels, float *loss);

void native_noise_pool(uint32_t state, int32_t p_zero, int32_t r_max, int16_t *pool);

void native_noise(const int16_t *pool, uint32_t state, int64_t size, int16_t *z);

void native_moved(const int8_t *weights, const int16_t *z, int64_t size, int32_t factor, int32_t limit, int8_t *out);

void native_zo_updated(const int8_t *weights, const int16_t *z, int64_t size, int32_t sign, int32_t shift,
                       int32_t limit, int8_t *out);

void native_bp_updated(const int8_t *weights, const int32_t *gradient, int64_t size, int32_t b_bp, int8_t *out);
