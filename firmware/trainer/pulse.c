#include "trainer/pulse.h"

#include "agent/port.h"

enum { HELD_US = 2, MHZ = 1000000 }; /* their runner asks for one at least */

void pulse_marker(void) {
    port_counter_restart();
    port_marker(false);
    const uint32_t start = port_cycles(), least = HELD_US * (port_clock_hz() / MHZ);
    while (port_cycles() - start < least) {
    }
    port_marker(true);
}

void mark_window(bool pulses, bool begins) {
    if (pulses) {
        pulse_marker();
    } else {
        port_marker(begins);
    }
}
