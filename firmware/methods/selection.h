/* Which elements of a tensor are selected, and a walk through them in their order: docs/memory.md, w16a8. In a byte of
   `gaps` is how many elements are left out before the next selected one; 255: so many are, and none is selected then.
   So a few elements need a byte each, whatever they are chosen from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SELECTION_LONGEST_GAP = UINT8_MAX };

#define SELECTION_END UINT32_MAX /* the place behind the last selected element */

typedef struct {
    const uint8_t *code; /* NULL: all are selected */
    uint32_t n;          /* elements of the tensor */
    bool gaps;           /* else a bit for each element */
} selection_t;

/* An element that is selected: its place in the tensor, and how many are selected before it. */
typedef struct {
    selection_t of;
    uint32_t place, rank;
    uint32_t read; /* bytes of gaps */
} selected_t;

/* The first that is selected from place `from` on, behind which nothing was read. */
static inline void selected_seek(selected_t *selected, uint32_t from) {
    const uint8_t *code = selected->of.code;
    const uint32_t n = selected->of.n;
    if (code == NULL) {
        selected->place = from < n ? from : SELECTION_END;
        return;
    }
    if (selected->of.gaps) {
        uint32_t gap = SELECTION_LONGEST_GAP;
        while (from < n && (gap = code[selected->read++]) == SELECTION_LONGEST_GAP) {
            from += gap;
        }
        selected->place = gap < SELECTION_LONGEST_GAP ? from + gap : SELECTION_END;
        return;
    }
    while (from < n && ((uint32_t)code[from / 8] >> from % 8 & 1u) == 0) {
        from++;
    }
    selected->place = from < n ? from : SELECTION_END;
}

static inline selected_t selected_first(const selection_t *of) {
    selected_t selected = {.of = *of};
    selected_seek(&selected, 0);
    return selected;
}

static inline void selected_next(selected_t *selected) {
    selected->rank++;
    selected_seek(selected, selected->place + 1);
}

/* A selection that is made: elements are selected in the order of their places. */
typedef struct {
    uint8_t *code;
    uint32_t n, from, written;
    bool gaps;
} selecting_t;

/* Bytes of `selected` elements among `n`. */
static inline uint32_t selection_bytes(uint32_t n, uint32_t selected, bool gaps) {
    return gaps ? selected + n / SELECTION_LONGEST_GAP + 1 : (n + 7) / 8;
}

selecting_t selecting_begin(uint8_t *code, uint32_t n, bool gaps);
void selecting_add(selecting_t *selecting, uint32_t place);
void selecting_end(selecting_t *selecting);
