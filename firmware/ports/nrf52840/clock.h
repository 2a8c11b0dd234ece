#pragma once

/* The 32 MHz crystal as source of everything fast. */
void clock_start(void);

#define CLOCK_HZ 64000000u
