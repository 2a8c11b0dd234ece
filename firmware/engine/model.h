/* A network with its settings, placed in its arena, and the state that training keeps. */
#pragma once

#include "engine/plan.h"
#include "engine/settings.h"
#include "engine/stopwatch.h"
#include "engine/stretches.h"
#include "engine/trace.h"
#include "engine/training.h"

/* Where the cycles of a step go: by phase, and forward and backward by layer. */
typedef struct {
    uint64_t perturb, update, digest;
    uint64_t forward[GRAPH_MAX_LAYERS]; /* the loss counts to the last layer */
    uint64_t backward[GRAPH_MAX_LAYERS];
} cycle_account_t;

typedef struct {
    uint8_t *arena;
    graph_file_t file;
    bool in_ram;                               /* the file: at the beginning of the arena; else in flash */
    bool limited;                              /* trained values are within their limits between steps */
    const struct format_table *const *formats; /* those of the layers are among them; NULL: there is no network */
    const struct method_table *method;         /* NULL: there are no settings */
    union {
        settings_t settings;
        uint8_t settings_bytes[SETTINGS_BYTES]; /* with those of the method */
    };
    training_t training; /* without settings: all that could be trained */
    plan_t plan;
    int16_t exponent[PLAN_LENGTH]; /* of every value, for the last group; 0 where values have a scale */
    int16_t gradient_exponent[GRAPH_MAX_LAYERS];
    float
        gradient_factor[GRAPH_MAX_LAYERS]; /* C of the output, of the latest backward pass: docs/arithmetic-tflite.md */
    float kept[3];                         /* numbers that a method keeps from step to step */
    const observer_t *observer;            /* of every value and error; NULL in training */
    stopwatch_t watch;
    cycle_account_t account;
    stretches_t stretches;
    uint64_t macs, layer_runs; /* of the step or run, as the watch runs: docs/memory.md, what is run */
} model_t;

/* What a trained tensor has: the weights of a layer, its biases, or, of a layer without weights, what else is trained
   of it; or the gains of its output channels. */
enum tensor_kind { TENSOR_WEIGHTS, TENSOR_BIASES, TENSOR_RANGE, TENSOR_GAINS, TENSOR_KINDS };

/* A trained tensor, as bytes. */
typedef struct {
    uint8_t *bytes;
    uint32_t size;
    uint8_t layer;
    enum tensor_kind kind;
} trained_tensor_t;

/* A trained tensor while bytes offset..offset + length - 1 of it are about to be written. */
typedef struct {
    trained_tensor_t tensor;
    uint32_t offset, length;
    const uint8_t *data;
} written_t;

/* Bytes at..at + n - 1 of the tensor as they are about to be: what is not written stays. */
void written_value(const written_t *written, uint32_t at, void *value, uint32_t n);

static inline uint32_t written_word(const written_t *written, uint32_t at) {
    uint32_t word;
    written_value(written, at, &word, sizeof word);
    return word;
}

/* Weights and biases of a layer, and what else is trained of one without weights: in the file; or copied, as what is
   trained of a file in flash is. Only what is trained may be written. */
int8_t *model_weights(const model_t *model, uint8_t l);
int32_t *model_biases(const model_t *model, uint8_t l);
uint8_t *model_range(const model_t *model, uint8_t l);

/* Whether the gains of a layer are trained. */
static inline bool model_has_gains(const model_t *model, uint8_t l) {
    return model->training.gains && in_set(model->training.layers, l);
}

/* The trained tensors, input to output: of each trained layer the weights, then the biases; without settings, all that
   could be. Their number, 0 without a network; and one of them. */
uint8_t model_tensors(const model_t *model);
trained_tensor_t model_tensor(const model_t *model, uint8_t tensor);

/* A trained tensor of a layer was written: compute again what depends on it. */
void model_rewritten(const model_t *model, uint8_t l, enum tensor_kind kind);

/* Bytes of the value that byte `at` of a trained tensor belongs to; values begin at multiples of theirs. */
uint32_t model_value_bytes(const model_t *model, const trained_tensor_t *tensor, uint32_t at);

/* Copy what is trained from a file in flash to RAM; and place these copies, with what is made of them. */
void model_copy_trained(const model_t *model);
void model_stand_copies(plan_t *plan, const model_t *model);

/* model_plan: make the plan for all starts, place the first buffers, and return the bytes that the plan needs.
   model_place_first: place the first buffers again. model_place_start: place those of the start at layer `from`, a
   later one than the start that is placed; buffers that are kept are moved. */
uint32_t model_plan(model_t *model);
void model_place_first(model_t *model);
void model_place_start(model_t *model, uint8_t from);

static inline int8_t *model_s8(const model_t *model, uint32_t offset) {
    return (int8_t *)(model->arena + offset);
}

/* Offsets are multiples of 8, and so is the address of the arena. */
static inline int32_t *model_s32(const model_t *model, uint32_t offset) {
    return (int32_t *)(void *)(model->arena + offset);
}

static inline int8_t *model_buffer(const model_t *model, enum plan_line line, uint8_t i) {
    return model_s8(model, plan_at(&model->plan, line, i));
}

static inline int32_t *model_words(const model_t *model, enum plan_line line, uint8_t i) {
    return model_s32(model, plan_at(&model->plan, line, i));
}

/* The buffers that begin with the gains of a layer, where these are trained. */
#define PLAN_GAINS PLAN_OWN

static inline int8_t *model_sample(const model_t *model, uint16_t slot) {
    return model_s8(model, model->plan.at[PLAN_SAMPLES]) +
           slot * graph_elements(&model->file, 0) * model->file.sample_bytes;
}

/* The label of a slot, where labels have 16 bits. */
static inline uint16_t model_label(const model_t *model, uint16_t slot) {
    return ((const uint16_t *)(const void *)(model->arena + model->plan.at[PLAN_LABELS]))[slot];
}

static inline uint16_t model_classes(const model_t *model) {
    return graph_header(&model->file)->classes;
}

/* Bytes of a predicted class. */
static inline uint8_t model_prediction_bytes(const model_t *model) {
    return model_classes(model) <= UINT8_MAX + 1 ? sizeof(uint8_t) : sizeof(uint16_t);
}

/* Bytes of the logits of a sample. */
static inline uint32_t model_logits_bytes(const model_t *model) {
    return (uint32_t)graph_size(&model->file, model->file.layers);
}

/* The logits of a member of the group that went through last. */
static inline const int8_t *model_logits(const model_t *model, uint16_t member) {
    return model_buffer(model, PLAN_VALUE, model->file.layers) + (uint32_t)member * model_logits_bytes(model);
}

static inline int16_t model_logits_exponent(const model_t *model) {
    return model->exponent[model->file.layers];
}
