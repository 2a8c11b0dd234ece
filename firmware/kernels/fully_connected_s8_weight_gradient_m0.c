#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "arith/bits.h"
#include "arith/round_shift.h"
#include "kernels/fully_connected.h"
#include "kernels/terms_s8.h"

enum { CHUNK = 112 }; /* inputs at a time, 8 bytes of stack each */

/* Inputs that are not 0: their magnitudes, by sign. */
typedef struct {
    term_t term[CHUNK]; /* the positive ones from the front on, the negative ones before the end */
    term_t *positive_end, *negative;
} inputs_t;

static void gather(inputs_t *list, const int8_t *in, uint32_t first, uint32_t n) {
    list->positive_end = list->term;
    list->negative = list->term + CHUNK;
    for (uint32_t j = first; j < first + n; j++) {
        if (in[j] > 0) {
            *list->positive_end++ = (term_t){.at = 4 * j, .factor = in[j]};
        } else if (in[j] < 0) {
            *--list->negative = (term_t){.at = 4 * j, .factor = -in[j]};
        }
    }
}

/* The products of one output; nothing to do if the shift leaves nothing of the largest there can be. */
static void add_row(const inputs_t *list, int32_t error, int32_t shift, int32_t *gradient) {
    const int32_t m = (int32_t)magnitude(error);
    if (trunc_shift(m * 127, shift) == 0) {
        return;
    }
    const uint32_t positive = (uint32_t)(list->positive_end - list->term),
                   negative = (uint32_t)(list->term + CHUNK - list->negative);
    terms_add_magnitudes(list->term, positive, m, (uint32_t)shift, gradient, error < 0);
    terms_add_magnitudes(list->negative, negative, m, (uint32_t)shift, gradient, error > 0);
}

void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                        int32_t shift, int32_t *gradient) {
    for (uint32_t first = 0; first < inputs; first += CHUNK) {
        inputs_t list;
        gather(&list, in, first, inputs - first < CHUNK ? inputs - first : CHUNK);
        for (uint32_t o = 0; o < outputs; o++) {
            add_row(&list, error[o], shift, gradient + o * inputs);
        }
    }
}

#endif
