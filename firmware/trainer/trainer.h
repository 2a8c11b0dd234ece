/* The rig's own engine behind the agent: networks by the methods of docs/arithmetic.md. */
#ifndef TRAINER_H
#define TRAINER_H

#include "agent/agent.h"
#include "net/engine.h"

/* Give the engine the whole arena, and return it as the agent wants it. */
agent_engine_t trainer_start(engine_t *engine);

#endif
