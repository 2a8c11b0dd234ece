/* A checkpoint is whole or does not count: its header is written last. */
#include <stddef.h>
#include <string.h>

#include "agent/port.h"
#include "arith/xxh32.h"
#include "trainer/requests.h"

enum {
    SLOTS = 2,
    MAGIC = 0x4B504354, /* "TCPK" */
    LEAST_HEADER = 64,  /* bytes: tensors begin there, or after the first unit where that is larger */
    BLOCK = PORT_FLASH_BLOCK,
};

/* CRC-32 as zlib has it, as on the link. */
typedef struct {
    uint32_t magic, sequence, campaign, step;
    uint32_t digest; /* over the digests of the tensors: docs/arithmetic.md, section 11 */
    uint32_t layout; /* XXH32 over the tensors' sizes: what the bytes can be copied over */
    uint32_t size;   /* bytes of all tensors, one after the other */
    uint32_t data_crc;
    uint32_t crc; /* of the words above */
} header_t;
_Static_assert(sizeof(header_t) <= LEAST_HEADER, "a header fits");

static uint32_t header_room(const port_flash_t *flash) {
    return flash->program > LEAST_HEADER ? flash->program : LEAST_HEADER;
}

static uint32_t slot_size(const port_flash_t *flash) {
    return flash->size / SLOTS;
}

/* Bytes of tensors that a slot holds. */
static uint32_t room(const port_flash_t *flash) {
    return flash->size == 0 ? 0 : slot_size(flash) - header_room(flash);
}

static uint32_t all_sizes(const engine_t *engine, uint32_t *layout) {
    uint32_t sizes[ENGINE_MAX_TENSORS], size = 0;
    const uint8_t tensors = model_tensors(&engine->model);
    for (uint8_t i = 0; i < tensors; i++) {
        sizes[i] = model_tensor(&engine->model, i).size;
        size += sizes[i];
    }
    *layout = xxh32(sizes, tensors * sizeof sizes[0], 0);
    return size;
}

static uint32_t digest_now(const engine_t *engine) {
    uint32_t words[ENGINE_MAX_TENSORS];
    (void)engine_digests(engine, words); /* there is a network */
    return xxh32(words, model_tensors(&engine->model) * sizeof words[0], 0);
}

static uint32_t header_crc(const header_t *header) {
    return link_crc32(0, (const uint8_t *)header, offsetof(header_t, crc));
}

/* Whether a slot holds a whole checkpoint. */
static bool whole(const port_flash_t *flash, uint32_t slot, header_t *header) {
    uint8_t block[BLOCK];
    const uint32_t start = slot * slot_size(flash);
    if (flash->size == 0 || !port_flash_read(start, (uint8_t *)header, sizeof *header) || header->magic != MAGIC ||
        header->crc != header_crc(header) || header->size > room(flash)) {
        return false;
    }
    uint32_t crc = 0;
    for (uint32_t at = 0; at < header->size; at += BLOCK) {
        const uint32_t n = header->size - at < BLOCK ? header->size - at : BLOCK;
        if (!port_flash_read(start + header_room(flash) + at, block, n)) {
            return false;
        }
        crc = link_crc32(crc, block, n);
    }
    return crc == header->data_crc;
}

failure_t request_checkpoints(const call_t *call) {
    link_reply_t *reply = call->reply;
    const port_flash_t flash = port_flash();
    const msg_checkpoints_reply_t answer = {.room = room(&flash)};
    link_put_reply(reply, &answer, sizeof answer);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        header_t header;
        if (whole(&flash, slot, &header)) {
            const uint32_t words[] = {slot,        header.sequence, header.campaign,
                                      header.step, header.digest,   header.layout};
            memcpy(reply->body + reply->length, words, sizeof words);
            reply->length += sizeof words;
        }
    }
    return no_failure();
}

/* The slot for the next checkpoint: not the one with the newest. `newest` becomes the number of that one, 0 without
   one. Numbers wrap around. */
static uint32_t next_slot(const port_flash_t *flash, uint32_t *newest) {
    header_t header[SLOTS];
    const bool there[SLOTS] = {whole(flash, 0, &header[0]), whole(flash, 1, &header[1])};
    const bool first = there[0] && (!there[1] || (int32_t)(header[0].sequence - header[1].sequence) > 0);
    *newest = first ? header[0].sequence : there[1] ? header[1].sequence : 0;
    return first ? 1 : 0;
}

/* Collects bytes until a block is full. */
typedef struct {
    uint32_t unit; /* bytes that are programmed at once, at least */
    uint32_t at, filled;
    uint8_t block[BLOCK];
} writer_t;

/* Program what was collected, filled up to a whole unit. */
static bool flush(writer_t *writer) {
    const uint32_t n = (writer->filled + writer->unit - 1) / writer->unit * writer->unit;
    memset(writer->block + writer->filled, 0xFF, n - writer->filled);
    const bool done = n == 0 || port_flash_program(writer->at, writer->block, n);
    writer->at += n;
    writer->filled = 0;
    return done;
}

static bool put(writer_t *writer, const uint8_t *bytes, uint32_t n) {
    bool good = true;
    for (uint32_t i = 0; good && i < n; i++) {
        writer->block[writer->filled++] = bytes[i];
        good = writer->filled < BLOCK || flush(writer);
    }
    return good;
}

/* Erase as much of a slot as will be written, the piece with the header first: from then on the slot does not count. */
static bool erase(const port_flash_t *flash, uint32_t slot, uint32_t size) {
    const uint32_t start = slot * slot_size(flash);
    bool good = true;
    for (uint32_t at = 0; good && at < header_room(flash) + size; at += flash->erase) {
        good = port_flash_erase(start + at);
    }
    return good;
}

static bool put_tensors(const engine_t *engine, writer_t *writer, header_t *header) {
    bool good = true;
    const uint8_t tensors = model_tensors(&engine->model);
    for (uint8_t i = 0; good && i < tensors; i++) {
        const trained_tensor_t tensor = model_tensor(&engine->model, i);
        header->data_crc = link_crc32(header->data_crc, tensor.bytes, tensor.size);
        good = put(writer, tensor.bytes, tensor.size);
    }
    return good && flush(writer);
}

static bool write_slot(const engine_t *engine, const port_flash_t *flash, uint32_t slot, header_t *header) {
    const uint32_t start = slot * slot_size(flash);
    writer_t writer = {.unit = flash->program, .at = start + header_room(flash)};
    if (!erase(flash, slot, header->size) || !put_tensors(engine, &writer, header)) {
        return false;
    }
    header->crc = header_crc(header);
    writer.at = start;
    header_t back;
    return put(&writer, (const uint8_t *)header, sizeof *header) && flush(&writer) && whole(flash, slot, &back) &&
           back.sequence == header->sequence;
}

/* Whether the network in use is in the flash for checkpoints. */
static bool network_is_there(const engine_t *engine, const port_flash_t *flash) {
    const graph_file_t *file = &engine->model.file;
    const uint32_t first = (uint32_t)(uintptr_t)file->bytes;
    return !engine->model.in_ram && first < flash->base + flash->size && flash->base < first + file->size;
}

failure_t request_save_checkpoint(const call_t *call) {
    const engine_t *engine = call->engine;
    const msg_save_checkpoint_request_t *fields = call->fields;
    RETURN_IF_REFUSED(engine_check_whole(engine));
    const port_flash_t flash = port_flash();
    header_t header = {
        .magic = MAGIC, .campaign = fields->campaign, .step = fields->step, .digest = digest_now(engine)};
    header.size = all_sizes(engine, &header.layout);
    const uint32_t there = network_is_there(engine, &flash) ? 0 : room(&flash);
    if (header.size > there) {
        return refusal(FAILURE_NO_ROOM, header.size, there);
    }
    const uint32_t slot = next_slot(&flash, &header.sequence);
    header.sequence++;
    if (!write_slot(engine, &flash, slot, &header)) {
        return refusal(FAILURE_FLASH_FAILED, slot * slot_size(&flash), slot);
    }
    const msg_save_checkpoint_reply_t answer = {
        .sequence = header.sequence, .slot = (uint8_t)slot, .bytes = header.size};
    link_put_reply(call->reply, &answer, sizeof answer);
    return no_failure();
}

static failure_t copy_tensor(engine_t *engine, uint8_t i, uint32_t from) {
    uint8_t block[BLOCK];
    const trained_tensor_t tensor = model_tensor(&engine->model, i);
    for (uint32_t at = 0; at < tensor.size; at += BLOCK) {
        const uint32_t n = tensor.size - at < BLOCK ? tensor.size - at : BLOCK;
        if (!port_flash_read(from + at, block, n)) {
            return refusal(FAILURE_FLASH_FAILED, from + at, 0);
        }
        RETURN_IF_REFUSED(engine_write_tensor(engine, i, at, n, block));
    }
    return no_failure();
}

static failure_t copy_all(engine_t *engine, const port_flash_t *flash, uint32_t slot) {
    uint32_t from = slot * slot_size(flash) + header_room(flash);
    const uint8_t tensors = model_tensors(&engine->model);
    for (uint8_t i = 0; i < tensors; i++) {
        RETURN_IF_REFUSED(copy_tensor(engine, i, from));
        from += model_tensor(&engine->model, i).size;
    }
    return no_failure();
}

failure_t request_load_checkpoint(const call_t *call) {
    engine_t *engine = call->engine;
    const msg_load_checkpoint_request_t *fields = call->fields;
    const port_flash_t flash = port_flash();
    RETURN_IF_REFUSED(engine_check_whole(engine));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        header_t header;
        uint32_t layout;
        if (!whole(&flash, slot, &header) || header.sequence != fields->sequence) {
            continue;
        }
        if (header.size != all_sizes(engine, &layout) || header.layout != layout) {
            return refusal(FAILURE_NO_CHECKPOINT, header.layout, layout);
        }
        RETURN_IF_REFUSED(copy_all(engine, &flash, slot));
        const msg_load_checkpoint_reply_t answer = {
            .campaign = header.campaign, .step = header.step, .digest = digest_now(engine)};
        link_put_reply(call->reply, &answer, sizeof answer);
        return no_failure();
    }
    return refusal(FAILURE_NO_CHECKPOINT, fields->sequence, 0);
}
