/* One frame on the wire: CRC-32, header and COBS encoding (docs/link.md, "Frame"). */
#include "agent/link.h"

#include <string.h>

enum { COBS_BLOCK = 254 }; /* data bytes after the largest code byte (Cheshire and Baker 1999) */

uint32_t link_crc32(uint32_t crc, const uint8_t *bytes, size_t n) {
    /* CRC of each 4-bit value for the reflected polynomial 0xEDB88320: 64 bytes of table, two look-ups a byte. */
    static const uint32_t nibble[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
        0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ nibble[crc & 15u];
        crc = (crc >> 4) ^ nibble[crc & 15u];
    }
    return ~crc;
}

void link_put_header(uint8_t *frame, uint8_t type, uint8_t session, uint16_t seq) {
    frame[0] = type;
    frame[1] = session;
    frame[2] = (uint8_t)seq;
    frame[3] = (uint8_t)(seq >> 8);
}

static void send_cobs(link_write_t write, const uint8_t *bytes, size_t n) {
    static const uint8_t end = 0;
    bool open = true; /* the frame ends inside a block, so that one more is due even if it is empty */
    while (open) {
        size_t run = 0;
        while (run < n && run < COBS_BLOCK && bytes[run] != 0) {
            run++;
        }
        const uint8_t code = (uint8_t)(run + 1);
        write(&code, 1);
        write(bytes, run);
        const bool took_zero = run < n && run < COBS_BLOCK;
        bytes += run + (took_zero ? 1u : 0u);
        n -= run + (took_zero ? 1u : 0u);
        open = took_zero || n > 0;
    }
    write(&end, 1);
}

void link_send_frame(link_write_t write, uint8_t *frame, size_t length) {
    const uint32_t crc = link_crc32(0, frame, length);
    memcpy(frame + length, &crc, LINK_CRC_SIZE); /* little-endian, as the structures of messages.h are */
    send_cobs(write, frame, length + LINK_CRC_SIZE);
}

void link_send(link_write_t write, uint8_t type, uint8_t session, uint16_t seq, const void *fields, size_t size) {
    uint8_t frame[LINK_HEADER_SIZE + sizeof(msg_hello_reply_t) + LINK_CRC_SIZE];
    link_put_header(frame, type, session, seq);
    memcpy(frame + LINK_HEADER_SIZE, fields, size);
    link_send_frame(write, frame, LINK_HEADER_SIZE + size);
}
