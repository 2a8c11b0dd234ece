#include "arith/rescale.h"
#include "kernels/pooling.h"

/* The sum of one channel, whose values are `step` bytes apart; by fours, since the compiler unrolls no loop of unknown
   length. */
static int32_t sum_of(const int8_t *in, uint32_t positions, uint32_t step) {
    int32_t sum = 0;
    for (; positions >= 4; positions -= 4, in += 4 * step) {
        sum += in[0] + in[step] + in[2 * step] + in[3 * step];
    }
    for (; positions > 0; positions--, in += step) {
        sum += *in;
    }
    return sum;
}

void tflite_mean_s8(const int8_t *in, uint32_t positions, uint32_t channels, const tflite_mean_t *mean, int8_t *out) {
    const int32_t zeros = (int32_t)positions * mean->input_zero;
    for (uint32_t c = 0; c < channels; c++) {
        const int32_t acc = sum_of(in + c, positions, channels) - zeros;
        const int64_t scaled = mean->single ? rescale_single(acc, mean->multiplier, mean->shift)
                                            : rescale_double(acc, mean->multiplier, mean->shift);
        const int64_t value = scaled + mean->output_zero;
        out[c] = (int8_t)(value < mean->act_min ? mean->act_min : value > mean->act_max ? mean->act_max : value);
    }
}
