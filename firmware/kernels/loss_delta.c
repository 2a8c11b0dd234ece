#include "kernels/losses.h"

#include "arith/float32.h"

int32_t loss_delta(float difference) {
    float held = difference < -32.0f ? -32.0f : difference;
    held = held > 32.0f ? 32.0f : held;
    return (int32_t)float32_round(held * 65536.0f);
}
