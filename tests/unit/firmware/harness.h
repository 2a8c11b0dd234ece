/* The pipe of harness.c, and what it drives: the link alone (harness_link.c) or the whole agent (harness_agent.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Called by what is driven: bytes for the host, and a line about something that happened. */
void harness_sent(const uint8_t *bytes, size_t n);
void harness_event(const char *format, ...);

/* Implemented by what is driven. */
void harness_start(void);
void harness_receive(const uint8_t *bytes, size_t n);
