/* The host sends request 0x20 with a number of float32, and gets their sum. */
#include <hil_agent_arduino.h>
#include <string.h>

static uint32_t sum(const hil_request_t *request, hil_reply_t *reply) {
    float total = 0.0f;
    if (request->length % sizeof total != 0) {
        return 1; /* an error number of this sketch */
    }
    for (size_t at = 0; at < request->length; at += sizeof total) {
        float value;
        memcpy(&value, request->body + at, sizeof value);
        total += value;
    }
    return hil_put(reply, &total, sizeof total) ? 0 : 2;
}

void setup() {
    Serial.begin(115200);
    hil_agent_start(hil_arduino(Serial));
    HIL_REQUEST(0x20, sum);
}

void loop() {
    hil_agent_poll();
}
