#pragma once

/* Keep the debug port as open as UICR says, on the revisions that close it at every start. May reset the chip, once. */
void protect_start(void);
