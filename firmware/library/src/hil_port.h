/* The port of the agent (agent/port.h) over the four functions of hil_hal_t. */
#pragma once

#include "hil_agent.h"

void hil_port_start(const hil_hal_t *hal);
