#pragma once

/* Stop the three watchdogs; RTWDOG runs from reset on. */
void watchdogs_stop(void);
