/* An engine of QZO-FF with a small network, for its tests. */
#pragma once

#include "engine/engine.h"
#include "methods/qzo_ff.h"
#include "trainer/registry.h"
#include "w16a8_made.h"

/* An engine with a network, in flash or in RAM. */
typedef struct {
    engine_t *engine;
    uint8_t *arena;
    w16a8_made_t made;
    uint32_t planned;
} qzo_bench_t;

/* Plain steps with one direction, of two samples that are held at a time. */
extern const qzo_ff_settings_t qzo_plain;

uint32_t qzo_no_cycles(void);

/* The network is then that of the bench. */
qzo_bench_t qzo_bench_of(const w16a8_made_t *made, bool flash);
void qzo_bench_free(qzo_bench_t *bench);
void qzo_configure(qzo_bench_t *bench, const qzo_ff_settings_t *settings);

/* The weights of a layer as they are. */
const int16_t *qzo_weights(const qzo_bench_t *bench, uint8_t l);

/* Both samples of the network of docs/arithmetic-w16a8.md, section 7, from `first` on, in the slots. */
void qzo_fill(qzo_bench_t *bench, uint16_t first, uint16_t count);

/* A step of both samples, which are held at a time, or come one by one. */
step_result_t qzo_train(qzo_bench_t *bench, uint32_t step, uint16_t slots, uint32_t digests[]);
