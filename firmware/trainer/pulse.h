/* A mark in time as MLPerf Tiny's runner wants it: the marker, high at rest, falls and rises again. */
#ifndef PULSE_H
#define PULSE_H

#include <stdbool.h>

/* Pull the marker down for two microseconds; what it marks is the falling edge. */
void pulse_marker(void);

/* Begin or end a window: by a level, or by a pulse downwards from a marker that is high at rest. */
void mark_window(bool pulses, bool begins);

#endif
