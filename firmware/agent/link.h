/* The agent's side of the link protocol (docs/link.md): frames in, exactly-once execution, replies out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/messages.h"

#define LINK_HEADER_SIZE 4u
#define LINK_CRC_SIZE 4u
#define LINK_FRAME_SIZE (LINK_HEADER_SIZE + MSG_MAX_BODY + LINK_CRC_SIZE)

/* Where the encoded bytes of a frame go: port_uart_write or port_uart_write_polled. */
typedef void (*link_write_t)(const uint8_t *bytes, size_t n);

typedef struct {
    uint8_t type;
    const uint8_t *body;
    size_t length;
} link_request_t;

/* The body of a reply; `length` is 0 when the handler is called. */
typedef struct {
    uint8_t *body; /* MSG_MAX_BODY bytes, not aligned */
    size_t length;
} link_reply_t;

/* Why a request is refused: an enum msg_error_code, 0 when it is not, and its two words (hil/link/messages.toml). */
typedef struct {
    uint8_t code;
    uint32_t a, b;
} link_error_t;

/* What the layer above does. `execute` is called exactly once for each request, in the order of their numbers. */
typedef struct {
    void (*begin_session)(void *context);
    void (*identify)(void *context, msg_hello_reply_t *reply);
    link_error_t (*execute)(void *context, const link_request_t *request, link_reply_t *reply);
    void *context;
} link_handler_t;

typedef struct {
    uint8_t bytes[LINK_FRAME_SIZE];
    size_t length;
    uint8_t code; /* code byte of the COBS block under way, 0 between frames */
    uint8_t left; /* bytes still to come in that block */
    bool damaged; /* longer than any frame can be */
} link_decoder_t;

typedef struct {
    const link_handler_t *handler;
    link_write_t write;
    link_decoder_t decoder;
    bool open; /* a session has begun */
    uint32_t nonce;
    uint8_t session;
    uint16_t expected;  /* number of the next request to execute */
    uint16_t last_good; /* number of the last undamaged frame of this session */
    uint8_t kept[LINK_FRAME_SIZE];
    size_t kept_length; /* header and body; 0: no reply is kept */
    uint8_t kept_request;
    uint16_t kept_seq;
} link_t;

static inline link_error_t link_no_error(void) {
    return (link_error_t){.code = 0};
}

static inline link_error_t link_unknown(const link_request_t *request) {
    return (link_error_t){.code = MSG_ERROR_UNKNOWN_REQUEST, .a = request->type};
}

static inline link_error_t link_bad_length(const link_request_t *request, size_t expected) {
    return (link_error_t){.code = MSG_ERROR_BAD_LENGTH, .a = (uint32_t)request->length, .b = (uint32_t)expected};
}

/* Make `size` bytes the whole reply. */
void link_put_reply(link_reply_t *reply, const void *fields, size_t size);

/* CRC-32 as zlib has it. Begin with crc = 0; the result of one call may be passed to the next. */
uint32_t link_crc32(uint32_t crc, const uint8_t *bytes, size_t n);

/* Encode and send one frame. `frame` holds header and body and has LINK_CRC_SIZE more bytes of room after them. */
void link_send_frame(link_write_t write, uint8_t *frame, size_t length);

/* Write type, session and number to the first LINK_HEADER_SIZE bytes of a frame. */
void link_put_header(uint8_t *frame, uint8_t type, uint8_t session, uint16_t seq);

/* Send a frame whose body is that of a control frame or of the reply to `hello`. */
void link_send(link_write_t write, uint8_t type, uint8_t session, uint16_t seq, const void *fields, size_t size);

void link_init(link_t *link, const link_handler_t *handler, link_write_t write);

/* Take received bytes, in any portions; executes and answers every request that they complete. */
void link_receive(link_t *link, const uint8_t *bytes, size_t n);
