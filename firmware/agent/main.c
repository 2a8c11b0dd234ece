#include "agent/agent.h"
#include "agent/fault.h"
#include "agent/port.h"

static agent_t agent;

int main(void) {
    port_init();
    agent_init(&agent);
    fault_watch(&agent.link);
    for (;;) {
        if (agent_poll(&agent) == 0) {
            port_wait();
        }
    }
}
