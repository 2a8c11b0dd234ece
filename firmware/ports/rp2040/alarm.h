#pragma once

/* The handler of the alarm that ends a sleep of known length. */
void alarm_handler(void);
