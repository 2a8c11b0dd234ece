#include "methods/selection.h"

#include <string.h>

selecting_t selecting_begin(uint8_t *code, uint32_t n, bool gaps) {
    if (!gaps) {
        memset(code, 0, selection_bytes(n, 0, false));
    }
    return (selecting_t){.code = code, .n = n, .gaps = gaps};
}

static void leave_out_until(selecting_t *selecting, uint32_t place) {
    for (; place >= selecting->from + SELECTION_LONGEST_GAP; selecting->from += SELECTION_LONGEST_GAP) {
        selecting->code[selecting->written++] = SELECTION_LONGEST_GAP;
    }
}

void selecting_add(selecting_t *selecting, uint32_t place) {
    if (!selecting->gaps) {
        selecting->code[place / 8] = (uint8_t)(selecting->code[place / 8] | 1u << place % 8);
        return;
    }
    leave_out_until(selecting, place);
    selecting->code[selecting->written++] = (uint8_t)(place - selecting->from);
    selecting->from = place + 1;
}

/* A walk ends where the elements do: what is left of them is left out. */
void selecting_end(selecting_t *selecting) {
    if (selecting->gaps && selecting->from < selecting->n) {
        leave_out_until(selecting, selecting->n);
        if (selecting->from < selecting->n) {
            selecting->code[selecting->written++] = SELECTION_LONGEST_GAP;
        }
    }
}
