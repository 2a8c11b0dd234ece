#ifndef WATCHDOG_H
#define WATCHDOG_H

/* Stop the three watchdogs; RTWDOG runs from reset on. */
void watchdogs_stop(void);

#endif
