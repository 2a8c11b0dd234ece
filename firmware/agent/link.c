/* Sessions, order, repeats and replies (docs/link.md). Knows frames and numbers, not what the requests mean. */
#include "agent/link.h"

#include <string.h>

#define CRC_RESIDUE 0x2144DF1Cu /* CRC-32 of any bytes with their CRC-32 behind them */

/* MSG_ACK or MSG_NAK. */
static void send_expected(const link_t *link, uint8_t type, uint16_t seq) {
    const msg_ack_t expected = {.expected = link->expected};
    link_send(link->write, type, link->session, seq, &expected, sizeof expected);
}

static bool is_windowed(uint8_t type) {
    return type == MSG_LOAD_DATA || type == MSG_SAMPLES || type == MSG_SAMPLE_PART || type == MSG_KEPT_SAMPLES;
}

static bool takes_long(uint8_t type) {
    return type == MSG_STEP || type == MSG_PART || type == MSG_RUN || type == MSG_INFER || type == MSG_SAVE_CHECKPOINT;
}

/* Keep the reply to request (type, seq), so that it can be sent again, and send it. */
static void keep_and_send(link_t *link, uint8_t request, uint16_t seq, uint8_t type, size_t body_length) {
    link_put_header(link->kept, type, link->session, seq);
    link->kept_length = LINK_HEADER_SIZE + body_length;
    link->kept_request = request;
    link->kept_seq = seq;
    link_send_frame(link->write, link->kept, link->kept_length);
}

static void execute(link_t *link, const link_request_t *request, uint16_t seq) {
    link->expected++;
    if (takes_long(request->type)) {
        send_expected(link, MSG_ACK, seq);
    }
    /* A windowed request has no reply body, so that the kept reply survives it. */
    link_reply_t reply = {.body = link->kept + LINK_HEADER_SIZE, .length = 0};
    const link_error_t outcome = link->handler->execute(link->handler->context, request, &reply);
    if (outcome.code != 0) {
        const msg_error_t error = {.code = outcome.code, .a = outcome.a, .b = outcome.b};
        memcpy(link->kept + LINK_HEADER_SIZE, &error, sizeof error);
        keep_and_send(link, request->type, seq, MSG_ERROR, sizeof error);
    } else if (is_windowed(request->type)) {
        send_expected(link, MSG_ACK, seq);
    } else {
        keep_and_send(link, request->type, seq, (uint8_t)(request->type | MSG_REPLY_BIT), reply.length);
    }
}

static void answer_hello(const link_t *link) {
    msg_hello_reply_t reply = {.protocol = MSG_PROTOCOL};
    link->handler->identify(link->handler->context, &reply);
    link_send(link->write, MSG_HELLO | MSG_REPLY_BIT, link->session, 0, &reply, sizeof reply);
}

/* A refused hello leaves the running session as it is; the error carries the session that the frame named. */
static void refuse_hello(const link_t *link, uint8_t session, uint8_t code, uint32_t a, uint32_t b) {
    const msg_error_t error = {.code = code, .a = a, .b = b};
    link_send(link->write, MSG_ERROR, session, 0, &error, sizeof error);
}

static void begin_session(link_t *link, uint32_t nonce) {
    link->open = true;
    link->nonce = nonce;
    link->session = (uint8_t)nonce;
    link->expected = 1;
    link->last_good = 0;
    link->kept_length = 0;
    link->handler->begin_session(link->handler->context);
}

static void take_hello(link_t *link, uint8_t session, const uint8_t *body, size_t length) {
    const msg_hello_request_t *hello = (const void *)body;
    /* The protocol before the length: the hello of a later one may be longer. */
    if (length >= sizeof *hello && hello->protocol != MSG_PROTOCOL) {
        refuse_hello(link, session, MSG_ERROR_PROTOCOL, MSG_PROTOCOL, hello->protocol);
        return;
    }
    if (length != sizeof *hello) {
        refuse_hello(link, session, MSG_ERROR_BAD_LENGTH, (uint32_t)length, sizeof *hello);
        return;
    }
    if (!link->open || hello->nonce != link->nonce) {
        begin_session(link, hello->nonce);
    }
    answer_hello(link);
}

/* A request that was executed before: its reply again if that is the one kept, else where we are. */
static void answer_repeat(link_t *link, uint8_t type, uint16_t seq) {
    const bool latest = seq == (uint16_t)(link->expected - 1u);
    if (latest && link->kept_length != 0 && link->kept_seq == seq && link->kept_request == type) {
        link_send_frame(link->write, link->kept, link->kept_length);
    } else {
        send_expected(link, MSG_ACK, seq);
    }
}

static void take_frame(link_t *link, const uint8_t *frame, size_t length) {
    const uint8_t type = frame[0];
    const uint8_t session = frame[1];
    const uint16_t seq = (uint16_t)(frame[2] | frame[3] << 8);
    const link_request_t request = {
        .type = type, .body = frame + LINK_HEADER_SIZE, .length = length - LINK_HEADER_SIZE};
    if (type == MSG_HELLO && seq == 0) {
        take_hello(link, session, request.body, request.length);
        return;
    }
    if (!link->open || session != link->session) {
        return;
    }
    link->last_good = seq;
    const uint16_t behind = (uint16_t)(link->expected - seq);
    if (behind == 0) {
        execute(link, &request, seq);
    } else if (behind <= 0x8000u) {
        answer_repeat(link, type, seq);
    } else {
        send_expected(link, MSG_NAK, seq);
    }
}

/* A delimiter has come: take the frame it ends, or ask for it again. */
static void end_frame(link_t *link) {
    link_decoder_t *decoder = &link->decoder;
    if (decoder->code == 0) {
        return; /* two zeros in a row: an empty frame */
    }
    const bool whole = !decoder->damaged && decoder->left == 0 && decoder->length >= LINK_HEADER_SIZE + LINK_CRC_SIZE;
    if (whole && link_crc32(0, decoder->bytes, decoder->length) == CRC_RESIDUE) {
        take_frame(link, decoder->bytes, decoder->length - LINK_CRC_SIZE);
    } else {
        send_expected(link, MSG_NAK, link->last_good);
    }
    decoder->length = 0;
    decoder->code = 0;
    decoder->left = 0;
    decoder->damaged = false;
}

static void decode(link_decoder_t *decoder, uint8_t byte) {
    if (decoder->damaged) {
        return;
    }
    uint8_t value = byte;
    if (decoder->left == 0) {
        const uint8_t ended = decoder->code;
        decoder->code = byte;
        decoder->left = (uint8_t)(byte - 1u);
        if (ended == 0 || ended == 0xFF) {
            return; /* the first block, or one after a full block, has no zero before it */
        }
        value = 0;
    } else {
        decoder->left--;
    }
    if (decoder->length == sizeof decoder->bytes) {
        decoder->damaged = true;
        return;
    }
    decoder->bytes[decoder->length++] = value;
}

void link_put_reply(link_reply_t *reply, const void *fields, size_t size) {
    memcpy(reply->body, fields, size);
    reply->length = size;
}

void link_init(link_t *link, const link_handler_t *handler, link_write_t write) {
    memset(link, 0, sizeof *link);
    link->handler = handler;
    link->write = write;
}

void link_receive(link_t *link, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == 0) {
            end_frame(link);
        } else {
            decode(&link->decoder, bytes[i]);
        }
    }
}
