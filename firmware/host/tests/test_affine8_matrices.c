/* fully_connected of affine8, of any size, with zero points and values at both ends, against sums in 64 bits. */
#include <string.h>

#include "affine8_drawn.h"
#include "check.h"
#include "tflite_drawn.h"

enum { ROUNDS = 400 };

static void check_matrix(uint32_t inputs, uint32_t outputs) {
    const affine8_layer_t drawn = {.input_zero = draw_zero(),
                                   .weight_zero = draw_zero(),
                                   .output_zero = draw_zero(),
                                   .least = -128,
                                   .most = 127,
                                   .factor = draw_factor(inputs)};
    int8_t *in = draw_bytes(inputs), *w = draw_bytes(inputs * outputs), *out = take(outputs);
    uint16_t *kept = take(outputs * sizeof *kept);
    int32_t *place = take(outputs * sizeof *place), *bias = take(outputs * sizeof *bias),
            *gradient = take(inputs * outputs * sizeof *gradient), *back = take(inputs * sizeof *back),
            *sums = take(outputs * sizeof *sums);
    affine8_layer_t layer = drawn;
    layer.bias = bias;
    memset(bias, 0, outputs * sizeof *bias);
    affine8_fold_bias(bias, w, layer.weight_zero, inputs, 1, outputs, inputs, layer.input_zero, bias);
    affine8_fully_connected(in, w, inputs, outputs, &layer, sums, out);
    const affine8_errors_t errors = {.zero = draw_zero(), .kept = kept, .count = draw_kept(outputs, kept, place)};
    int8_t *error = draw_bytes(errors.count);
    draw_zeros(error, errors.count, errors.zero);
    affine8_errors_t its = errors;
    its.error = error;
    for (uint32_t i = 0; i < inputs * errors.count; i++) {
        gradient[i] = (int32_t)i;
    }
    affine8_fully_connected_weight_gradient(in, &its, inputs, layer.input_zero, gradient);
    affine8_fully_connected_input_error(&its, w, layer.weight_zero, inputs, back);
    for (uint32_t o = 0; o < outputs; o++) {
        int64_t sum = 0;
        for (uint32_t j = 0; j < inputs; j++) {
            sum += (in[j] - layer.input_zero) * (w[o * inputs + j] - layer.weight_zero);
        }
        const int8_t expected = output_of(sum, layer.factor, layer.output_zero, -128, 127);
        CHECK(out[o] == expected, "fully_connected %u x %u, output %u: %d, not %d", inputs, outputs, o, out[o],
              expected);
    }
    for (uint32_t j = 0; j < inputs; j++) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < errors.count; i++) {
            const int32_t e = error[i] - errors.zero, at = (int32_t)(i * inputs + j);
            sum += e * (w[kept[i] * inputs + j] - layer.weight_zero);
            CHECK(gradient[at] == at + e * (in[j] - layer.input_zero), "gradient %d of fully_connected: %d", at,
                  gradient[at]);
        }
        CHECK(back[j] == sum, "error %u of fully_connected: %d, not %lld", j, back[j], (long long)sum);
    }
    void *all[] = {in, w, out, kept, place, bias, gradient, back, sums, error};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

void test_affine8_matrices(void) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        check_matrix((uint32_t)draw(1, 300), (uint32_t)draw(1, 20));
    }
}
