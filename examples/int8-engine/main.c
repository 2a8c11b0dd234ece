/* The engine behind the agent of trainrig: three requests of its own. All tensors are little-endian, in C order.
 *
 *   0x20 load     fc1, fc2                    -> nothing
 *   0x21 step     8 samples, 8 labels (u8)    -> loss (i32), fc1, fc2
 *   0x22 predict  up to 64 samples            -> their classes (u8) */
#include "board.h"
#include "engine.h"
#include "hil_agent.h"

#include <string.h>

enum { WRONG_LENGTH = 1, NO_ROOM = 2 };

static engine_t engine;

static uint32_t load(const hil_request_t *request, hil_reply_t *reply) {
    (void)reply;
    if (request->length != sizeof engine) {
        return WRONG_LENGTH;
    }
    memcpy(&engine, request->body, sizeof engine);
    return 0;
}

static uint32_t step(const hil_request_t *request, hil_reply_t *reply) {
    int8_t x[BATCH][INPUTS];
    if (request->length != sizeof x + BATCH) {
        return WRONG_LENGTH;
    }
    memcpy(x, request->body, sizeof x);
    const int32_t loss = engine_step(&engine, x, request->body + sizeof x);
    return hil_put(reply, &loss, sizeof loss) && hil_put(reply, &engine, sizeof engine) ? 0 : NO_ROOM;
}

static uint32_t predict(const hil_request_t *request, hil_reply_t *reply) {
    for (size_t at = 0; at + INPUTS <= request->length; at += INPUTS) {
        const uint8_t class = engine_predict(&engine, (const int8_t *)request->body + at);
        if (!hil_put(reply, &class, sizeof class)) {
            return NO_ROOM;
        }
    }
    return 0;
}

int main(void) {
    hil_agent_start(&board);
    HIL_REQUEST(0x20, load);
    HIL_REQUEST(0x21, step);
    HIL_REQUEST(0x22, predict);
    for (;;) {
        hil_agent_poll();
    }
}
