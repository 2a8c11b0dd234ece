#include "kernels/requantize.h"

#include "kernels/dsp.h"

static int32_t sum_apart(const int8_t *weights, uint32_t n, uint32_t step) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += weights[i * step];
    }
    return sum;
}

/* Of `words` words of weights, fewer than 2^8: bytes with 128 added, in lanes of 16 bits. */
static int32_t sum_words(const int8_t *weights, uint32_t words) {
    weights = __builtin_assume_aligned(weights, 4);
    uint32_t even = 0, odd = 0;
    for (uint32_t i = 0; i < words; i++) {
        const uint32_t turned = load_word(weights + 4 * i) ^ 0x80808080u;
        even += turned & 0x00FF00FFu;
        odd += turned >> 8 & 0x00FF00FFu;
    }
    const uint32_t sum = (even & 0xFFFFu) + (even >> 16) + (odd & 0xFFFFu) + (odd >> 16);
    return (int32_t)sum - (int32_t)(4 * 128 * words);
}

/* Contiguous weights. */
static int32_t sum_together(const int8_t *weights, uint32_t n) {
    uint32_t taken = (0u - (uint32_t)(uintptr_t)weights) & 3u; /* to where a word begins */
    taken = taken < n ? taken : n;
    int32_t sum = sum_apart(weights, taken, 1);
    while (n - taken >= 4) {
        const uint32_t words = (n - taken) / 4 < 255 ? (n - taken) / 4 : 255;
        sum += sum_words(weights + taken, words);
        taken += 4 * words;
    }
    return sum + sum_apart(weights + taken, n - taken, 1);
}

void tflite_fold_bias(const int32_t *bias, const int8_t *weights, uint32_t taps, uint32_t tap_step, uint32_t channels,
                      uint32_t channel_step, int8_t input_zero, int32_t *folded) {
    for (uint32_t o = 0; o < channels; o++) {
        const int8_t *const first = weights + o * channel_step;
        const int32_t sum = tap_step == 1 ? sum_together(first, taps) : sum_apart(first, taps, tap_step);
        folded[o] = (int32_t)((uint32_t)bias[o] - (uint32_t)input_zero * (uint32_t)sum);
    }
}
