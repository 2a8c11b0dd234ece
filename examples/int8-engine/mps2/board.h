/* QEMU's mps2-an386 as the agent sees it. */
#pragma once

#include "hil_agent.h"

extern const hil_hal_t board;
