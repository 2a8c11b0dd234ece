#include "kernels/adamw.h"

#include "arith/sqrt32.h"

#define LEAST_DIVISOR 0x1.5798eep-27f /* 1e-8 */

float adamw_step(const adamw_t *adamw, float gradient, adamw_moments_t *moments) {
    const float old1 = adamw->beta1 * moments->first, new1 = adamw->rest1 * gradient;
    const float square = gradient * gradient;
    const float old2 = adamw->beta2 * moments->second, new2 = adamw->rest2 * square;
    moments->first = old1 + new1;
    moments->second = old2 + new2;
    const float first = moments->first / adamw->weigh1, second = moments->second / adamw->weigh2;
    const float divisor = sqrt32(second) + LEAST_DIVISOR;
    const float direction = first / divisor;
    return direction * adamw->rate;
}
