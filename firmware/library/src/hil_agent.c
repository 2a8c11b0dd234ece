/* Requests of one's own, as the engine of the agent. */
#include "hil_agent.h"

#include <string.h>

#include "agent/agent.h"
#include "hil_port.h"

_Static_assert(HIL_MOST_BODY == MSG_MAX_BODY, "the longest body of the link");

enum { OWN_ERROR = 0x80 }; /* hil/link/messages.toml, [own] */

static agent_t agent;
static hil_own_request_t *requests;

static void begin_session(void *context) {
    (void)context;
}

static uint32_t arena_peak(const void *context) {
    (void)context;
    return 0; /* there is no arena */
}

/* Say that the request was accepted, and may take long: the host then waits for its reply and does not repeat it. */
static void accept(void) {
    const link_t *link = &agent.link;
    const msg_ack_t ack = {.expected = link->expected};
    link_send(link->write, MSG_ACK, link->session, (uint16_t)(link->expected - 1u), &ack, sizeof ack);
}

static link_error_t execute(void *context, const link_request_t *request, link_reply_t *reply) {
    (void)context;
    const hil_own_request_t *own = requests;
    while (own != NULL && own->number != request->type) {
        own = own->next;
    }
    if (own == NULL) {
        return link_unknown(request);
    }
    accept();
    const hil_request_t asked = {.number = request->type, .body = request->body, .length = request->length};
    hil_reply_t answer = {.body = reply->body, .length = 0};
    const uint32_t returned = own->handler(&asked, &answer);
    const bool fits = answer.length <= HIL_MOST_BODY;
    const uint32_t error = fits ? returned : HIL_REPLY_TOO_LONG;
    reply->length = fits ? answer.length : 0;
    return (link_error_t){.code = error != 0 ? OWN_ERROR : 0, .a = error};
}

void hil_agent_start(const hil_hal_t *hal) {
    static const agent_engine_t engine = {.begin_session = begin_session, .execute = execute, .arena_peak = arena_peak};
    hil_port_start(hal);
    agent_init(&agent, &engine);
}

/* Not inlined, so that an ELF file shows that the agent is in it (hil/dut/hang_diagnosis.py). */
__attribute__((noinline)) size_t hil_agent_poll(void) {
    return agent_poll(&agent);
}

bool hil_put(hil_reply_t *reply, const void *bytes, size_t n) {
    if (reply->length > HIL_MOST_BODY || n > HIL_MOST_BODY - reply->length) {
        return false;
    }
    memcpy(reply->body + reply->length, bytes, n);
    reply->length += n;
    return true;
}

void hil_agent_add(hil_own_request_t *request) {
    for (const hil_own_request_t *each = requests; each != NULL; each = each->next) {
        if (each == request) {
            return; /* code that registers may run again */
        }
    }
    request->next = requests;
    requests = request;
}
