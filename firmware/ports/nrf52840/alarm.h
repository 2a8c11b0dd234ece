#pragma once

#define ALARM_TIMER 0u

/* The handler of the timer that ends a sleep of known length. */
void alarm_handler(void);
