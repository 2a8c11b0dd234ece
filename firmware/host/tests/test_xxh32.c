#include <string.h>

#include "arith/xxh32.h"
#include "check.h"

static void test_known_digests(void) {
    CHECK(xxh32("", 0, 0) == 0x02CC5D05u, "of nothing: %08x", xxh32("", 0, 0));
    CHECK(xxh32("a", 1, 0) == 0x550D7456u, "of a: %08x", xxh32("a", 1, 0));
    CHECK(xxh32("abc", 3, 0) == 0x32D153FFu, "of abc: %08x", xxh32("abc", 3, 0));
}

/* Pieces of any size, from any address, give the digest of the whole. */
static void test_pieces(void) {
    uint8_t *bytes = (uint8_t *)draw_s8(200, 127);
    for (uint32_t round = 0; round < 5000; round++) {
        const size_t from = (size_t)draw(0, 7), n = (size_t)draw(0, 190);
        const uint32_t seed = (uint32_t)draw(0, 3);
        xxh32_t state;
        xxh32_begin(&state, seed);
        for (size_t at = 0; at < n;) {
            const size_t left = n - at, piece = (size_t)draw(0, 40) < left ? (size_t)draw(0, (int32_t)left) : left;
            uint8_t *copy = take(piece);
            memcpy(copy, bytes + from + at, piece);
            xxh32_update(&state, copy, piece);
            free(copy);
            at += piece;
        }
        CHECK(xxh32_end(&state) == xxh32(bytes + from, n, seed), "%zu bytes in pieces", n);
    }
    free(bytes);
}

void test_xxh32(void) {
    test_known_digests();
    test_pieces();
}
