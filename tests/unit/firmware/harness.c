/* Drives the agent's code from a pipe, for the tests beside it. Standard input: portions of received bytes, each behind its
   length (u16). Standard output, for each portion: the encoded bytes that it sent and the events they caused, each behind
   their length (u32). An event is a line of text. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

typedef struct {
    char *bytes;
    size_t size, capacity;
} text_t;

static text_t sent, events;

static void append(text_t *text, const void *bytes, size_t n) {
    if (text->size + n > text->capacity) {
        text->capacity = 2 * (text->size + n);
        text->bytes = realloc(text->bytes, text->capacity);
        if (text->bytes == NULL) {
            abort();
        }
    }
    if (n > 0) {
        memcpy(text->bytes + text->size, bytes, n);
        text->size += n;
    }
}

void harness_event(const char *format, ...) {
    char line[64];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    append(&events, line, (size_t)n);
}

void harness_sent(const uint8_t *bytes, size_t n) {
    append(&sent, bytes, n);
}

static void put(const text_t *text) {
    const uint32_t size = (uint32_t)text->size;
    fwrite(&size, sizeof size, 1, stdout);
    if (size > 0) {
        fwrite(text->bytes, 1, size, stdout);
    }
}

int main(void) {
    harness_start();
    uint16_t n;
    while (fread(&n, sizeof n, 1, stdin) == 1) {
        /* A copy of just the right size, so that reading beyond it is an error that the sanitizer sees. */
        uint8_t *bytes = malloc(n == 0 ? 1 : n);
        if (bytes == NULL || fread(bytes, 1, n, stdin) != n) {
            return 1;
        }
        sent.size = events.size = 0;
        harness_receive(bytes, n);
        free(bytes);
        put(&sent);
        put(&events);
        fflush(stdout);
    }
    free(sent.bytes);
    free(events.bytes);
    return 0;
}
