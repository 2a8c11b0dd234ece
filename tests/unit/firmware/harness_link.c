/* The link with a handler that records what it is asked to execute. */
#include <stdlib.h>
#include <string.h>

#include "agent/link.h"
#include "harness.h"

static link_t link;

static void begin_session(void *context) {
    (void)context;
    harness_event("session\n");
}

static void identify(void *context, msg_hello_reply_t *reply) {
    (void)context;
    memcpy(reply->board, "harness\0\0\0\0\0\0\0\0", sizeof reply->board);
    reply->rx_window = 4096;
}

/* Records the request. A body that begins with 0xEE is refused; otherwise the reply is the body, backwards. */
static link_error_t execute(void *context, const link_request_t *request, link_reply_t *reply) {
    (void)context;
    /* A copy of just the right size, so that reading beyond the body is an error that the sanitizer sees. */
    uint8_t *body = malloc(request->length == 0 ? 1 : request->length);
    if (body == NULL) {
        abort();
    }
    memcpy(body, request->body, request->length);
    harness_event("%u %zu %08x\n", (unsigned)request->type, request->length,
                  (unsigned)link_crc32(0, body, request->length));
    link_error_t outcome = {.code = 0, .a = 0, .b = 0};
    if (request->length > 0 && body[0] == 0xEE) {
        outcome = (link_error_t){.code = MSG_ERROR_BAD_SLOT, .a = (uint32_t)request->length, .b = 7};
    } else if (request->type != MSG_LOAD_DATA && request->type != MSG_SAMPLES) {
        for (size_t i = 0; i < request->length; i++) {
            reply->body[i] = body[request->length - 1 - i];
        }
        reply->length = request->length;
    }
    free(body);
    return outcome;
}

void harness_start(void) {
    static const link_handler_t handler = {.begin_session = begin_session, .identify = identify, .execute = execute};
    link_init(&link, &handler, harness_sent);
}

void harness_receive(const uint8_t *bytes, size_t n) {
    link_receive(&link, bytes, n);
}
