/* Checkpoints of the trained tensors in two slots of the board's flash (docs/campaigns.md). A slot is whole or does not count: its header is
   written last. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "net/failure.h"
#include "trainer/trainer.h"

/* The requests `checkpoints`, `save_checkpoint` and `load_checkpoint` (hil/link/messages.toml). */
failure_t checkpoint_list(link_reply_t *reply);
failure_t checkpoint_save(trainer_t *trainer, const uint8_t *body, link_reply_t *reply);
failure_t checkpoint_load(trainer_t *trainer, const uint8_t *body, link_reply_t *reply);

#endif
