/* Checkpoints of the trained tensors in two slots of the board's flash (docs/campaigns.md). A slot is whole or does
   not count: its header is written last. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "trainer/requests.h"

/* hil/link/messages.toml. */
request_t request_checkpoints, request_save_checkpoint, request_load_checkpoint;

#endif
