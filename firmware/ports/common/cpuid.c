#include "agent/port.h"
#include "cortex_m.h"

uint32_t port_cpuid(void) {
    return SCB_CPUID;
}
