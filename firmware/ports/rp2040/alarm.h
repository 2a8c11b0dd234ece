#ifndef ALARM_H
#define ALARM_H

/* The handler of the timer's first alarm, which ends a sleep of known length. */
void alarm_handler(void);

#endif
