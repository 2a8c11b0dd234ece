#include "agent/agent.h"
#include "agent/fault.h"
#include "agent/port.h"
#include "trainer/trainer.h"

static agent_t agent;
static engine_t engine;

int main(void) {
    port_init();
    const agent_engine_t trainer = trainer_start(&engine);
    agent_init(&agent, &trainer);
    fault_watch(&agent.link);
    for (;;) {
        if (agent_poll(&agent) == 0) {
            port_wait();
        }
    }
}
