#include <string.h>

#include "arith/xxh32.h"
#include "check.h"

/* Digests by another implementation. */
static void test_known_digests(void) {
    static const struct {
        const char *text;
        uint32_t seed, digest;
    } known[] = {
        {"", 0, 0x02CC5D05u},
        {"a", 0, 0x550D7456u},
        {"abc", 0, 0x32D153FFu},
        {"0123456789abcdef", 0, 0xC2C45B69u},
        {"0123456789abcdef0123456789ABCDEFxyz", 0, 0xFC11B83Bu},
        {"0123456789abcdef0123456789ABCDEFxyz", 7, 0x25486933u},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const uint32_t found = xxh32(known[i].text, strlen(known[i].text), known[i].seed);
        CHECK(found == known[i].digest, "of %s: %08x", known[i].text, found);
    }
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
