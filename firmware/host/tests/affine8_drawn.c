#include "affine8_drawn.h"

#include "check.h"
#include "naive_tflite.h"

int8_t draw_zero(void) {
    const int32_t kind = draw(0, 3);
    return (int8_t)(kind == 0 ? -128 : kind == 1 ? 127 : draw(-128, 127));
}

affine8_factor_t draw_factor(uint32_t taps) {
    int32_t n = 22;
    for (; taps > 1; taps /= 4) {
        n++;
    }
    n = draw(0, 3) == 0 ? draw(16, 46) : n + draw(-1, 1);
    const int32_t kind = draw(0, 9);
    return (affine8_factor_t){.m = (uint16_t)(kind == 0   ? 65535
                                              : kind == 1 ? 0
                                                          : draw(32768, 65535)),
                              .n = (uint8_t)n,
                              .floors = draw(0, 3) == 0};
}

int8_t output_of(int64_t acc, affine8_factor_t factor, int64_t zero, int64_t least, int64_t most) {
    const int64_t divisor = INT64_C(1) << factor.n, product = acc * factor.m + (factor.floors ? 0 : divisor / 2);
    const int64_t rest = product % divisor;
    return (int8_t)naive_clamp(zero + product / divisor - (rest < 0 ? 1 : 0), least, most);
}

uint32_t draw_kept(uint32_t channels, uint16_t *kept, int32_t *place) {
    const int32_t kind = draw(0, 4), one = draw(0, (int32_t)channels - 1);
    uint32_t count = 0;
    for (uint32_t c = 0; c < channels; c++) {
        const bool keeps = kind <= 1 || (kind == 2 && (int32_t)c == one) || (kind == 3 && draw(0, 1) == 1);
        place[c] = keeps ? (int32_t)count : -1;
        if (keeps) {
            kept[count++] = (uint16_t)c;
        }
    }
    return count;
}

void draw_zeros(int8_t *error, uint32_t n, int8_t zero) {
    const int32_t zeros = draw(0, 3);
    for (uint32_t i = 0; i < n; i++) {
        error[i] = draw(0, 3) < zeros ? zero : error[i];
    }
}
