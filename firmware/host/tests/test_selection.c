/* Selections as bits and as gaps, and moments of which the last of 32 has no word of its own: against plain arrays. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "methods/moments.h"
#include "methods/selection.h"

enum { MOST = 3000 };

/* Select with a chance of `share` in 1000 and walk through it; the code must fill no more than its room. */
static void check_selection(uint32_t n, int32_t share, bool gaps) {
    static bool chosen[MOST];
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        chosen[i] = draw(0, 999) < share;
        count += chosen[i];
    }
    const uint32_t room = selection_bytes(n, count, gaps);
    uint8_t *code = malloc(room); /* the sanitizer finds what is written or read beyond it */
    selecting_t selecting = selecting_begin(code, n, gaps);
    for (uint32_t i = 0; i < n; i++) {
        if (chosen[i]) {
            selecting_add(&selecting, i);
        }
    }
    selecting_end(&selecting);
    const selection_t selection = {.code = code, .n = n, .gaps = gaps};
    selected_t one = selected_first(&selection);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (chosen[i]) {
            CHECK(one.place == i && one.rank == rank, "%u of %u: place %u, rank %u, not %u", i, n, one.place, one.rank,
                  rank);
            selected_next(&one);
            rank++;
        }
    }
    CHECK(one.place == SELECTION_END, "%u elements: %u is selected after the last one", n, one.place);
    free(code);
}

static void check_all(uint32_t n) {
    const selection_t all = {.n = n};
    selected_t one = selected_first(&all);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(one.place == i && one.rank == i, "all: %u", i);
        selected_next(&one);
    }
    CHECK(one.place == SELECTION_END, "all of %u", n);
}

static float number(void) {
    return (float)draw(0, 1 << 24) * 0x1p-20f;
}

static void check_moments(uint32_t n) {
    static adamw_moments_t plain[MOST];
    const size_t bytes = (size_t)moments_bytes(n);
    uint32_t *moments = malloc(bytes);
    memset(moments, 0, bytes);
    memset(plain, 0, n * sizeof *plain);
    for (uint32_t turn = 0; turn < 4 * n; turn++) {
        const uint32_t i = (uint32_t)draw(0, (int32_t)n - 1);
        plain[i] = (adamw_moments_t){.first = number() - 8.0f, .second = number()};
        moments_put(moments, i, plain[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        const adamw_moments_t found = moments_at(moments, i);
        CHECK(memcmp(&found, &plain[i], sizeof found) == 0, "moments %u of %u", i, n);
    }
    free(moments);
}

void test_selection(void) {
    static const int32_t shares[] = {0, 1, 4, 60, 500, 1000};
    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t n = (uint32_t)draw(1, MOST);
        const int32_t share = shares[i % 6];
        check_selection(n, share, true);
        check_selection(n, share, false);
    }
    for (uint32_t n = 253; n < 258; n++) {
        check_selection(n, 0, true);
        check_selection(n, 2, true);
    }
    check_all(77);
    for (uint32_t n = 1; n < 130; n++) {
        check_moments(n);
    }
    CHECK(moments_bytes(31) == 248 && moments_bytes(32) == 252 && moments_bytes(33) == 260, "bytes of moments");
}
