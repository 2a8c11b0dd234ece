#include "agent/agent.h"
#include "agent/fault.h"
#include "agent/port.h"
#include "trainer/trainer.h"

static agent_t agent;
static trainer_t trainer;

int main(void) {
    port_init();
    const agent_engine_t engine = trainer_start(&trainer);
    agent_init(&agent, &engine);
    fault_watch(&agent.link);
    for (;;) {
        if (agent_poll(&agent) == 0) {
            port_wait();
        }
    }
}
