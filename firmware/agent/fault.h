/* The last words of a processor that has faulted: one control.fault frame (docs/link.md). */
#pragma once

#include "agent/link.h"

/* Name the link whose session and number the fault frame carries. */
void fault_watch(const link_t *link);

/* Handler of every fault and of every interrupt without a handler; does not return. */
void fault_handler(void);
