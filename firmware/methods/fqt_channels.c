/* Which channels take part in the backward pass of a sample: docs/arithmetic-fqt.md, section 4. */
#include "formats/float32.h"
#include "kernels/layers_f32.h"
#include "methods/fqt.h"

enum { FOUR = 4, FEW = 16 /* channels whose norms are sorted */ };

float fqt_share(const fqt_settings_t *settings, float loss, float largest) {
    const float least = settings->lambda_min, most = settings->lambda_max;
    const float ratio = largest == 0.0f ? 0.0f : loss / largest;
    const float r = settings->rate == RATE_RATIO ? ratio : largest - loss;
    const float part = r * (most - least), share = least + part;
    return share > 1.0f ? 1.0f : share;
}

uint32_t fqt_count(float share, uint32_t channels) {
    const uint32_t count = (uint32_t)(int32_t)(share * (float)channels);
    return count > 0 ? count : 1;
}

/* Let a channel sink from heap[at] to where none below it has a smaller norm. `last` is the last place of the heap. */
static inline void sink(const uint32_t *norms, uint16_t *heap, uint32_t last, uint32_t at, uint32_t channel) {
    const uint32_t norm = norms[channel];
    uint32_t below = 2 * at + 1;
    for (; below < last; below = 2 * below + 1) {
        const uint16_t *const two = heap + below;
        uint32_t smaller = two[0], its = norms[smaller];
        const uint32_t right = two[1], of_right = norms[right];
        if (of_right < its) {
            smaller = right;
            its = of_right;
            below++;
        }
        if (its >= norm) {
            break;
        }
        heap[at] = (uint16_t)smaller;
        at = below;
    }
    if (below == last && norms[heap[below]] < norm) {
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = (uint16_t)channel;
}

/* Put a channel in the place of the smallest norm; returns what is the smallest then. Apart, for its registers. */
static __attribute__((noinline)) uint32_t replace_least(const uint32_t *norms, uint16_t *heap, uint32_t last,
                                                        uint32_t channel) {
    sink(norms, heap, last, 0, channel);
    return norms[heap[0]];
}

/* Put a norm among sorted ones, the largest first, in the place of the last; before the first is a larger one. */
static inline void insert(uint32_t *last, uint32_t norm) {
    for (; last[-1] < norm; last--) {
        *last = last[-1];
    }
    *last = norm;
}

/* The smallest of the `count` largest norms; how many of those that equal it belong to them goes to `equal`. Few are
   sorted, and meet each norm once. */
static uint32_t least_of_few(const uint32_t *norms, uint32_t n, uint32_t count, uint32_t *equal) {
    uint32_t sorted[1 + FEW] = {UINT32_MAX}, *const last = sorted + count, i = 0;
    for (; i < count; i++) {
        insert(sorted + 1 + i, norms[i]);
    }
    for (const uint32_t *four = norms + i; n - i >= FOUR; i += FOUR, four += FOUR) {
        for (uint32_t j = 0; j < FOUR; j++) {
            if (four[j] > *last) {
                insert(last, four[j]);
            }
        }
    }
    for (; i < n; i++) {
        if (norms[i] > *last) {
            insert(last, norms[i]);
        }
    }
    for (*equal = 1; last[-(int32_t)*equal] == *last;) {
        ++*equal;
    }
    return *last;
}

/* The same of many, which a heap of channels with the smallest norm first holds. */
static uint32_t least_of_many(const uint32_t *norms, uint32_t n, uint32_t count, uint16_t *heap, uint32_t *equal) {
    const uint32_t last = count - 1;
    for (uint32_t i = 0; i < count; i++) {
        heap[i] = (uint16_t)i;
    }
    for (uint32_t at = count / 2; at-- > 0;) {
        sink(norms, heap, last, at, heap[at]);
    }
    uint32_t least = norms[heap[0]], i = count;
    for (const uint32_t *four = norms + i; n - i >= FOUR; i += FOUR, four += FOUR) {
        for (uint32_t j = 0; j < FOUR; j++) {
            if (four[j] > least) {
                least = replace_least(norms, heap, last, i + j);
            }
        }
    }
    for (; i < n; i++) {
        if (norms[i] > least) {
            least = replace_least(norms, heap, last, i);
        }
    }
    *equal = 0;
    for (i = 0; i < count; i++) {
        *equal += norms[heap[i]] == least;
    }
    return least;
}

/* The channels of a list that grows. */
typedef struct {
    uint16_t *next;
    uint32_t least, equal; /* the smallest norm that is kept, and how many more of that norm are */
} list_t;

static inline void take_large(list_t *list, uint32_t norm, uint32_t channel) {
    if (norm >= list->least) {
        const bool is_equal = norm == list->least;
        if (!is_equal || list->equal > 0) {
            *list->next++ = (uint16_t)channel;
            list->equal -= is_equal;
        }
    }
}

void fqt_select(const uint32_t *norms, uint32_t n, uint32_t count, uint16_t *kept) {
    list_t list = {.next = kept};
    uint32_t i = 0;
    list.least =
        count <= FEW ? least_of_few(norms, n, count, &list.equal) : least_of_many(norms, n, count, kept, &list.equal);
    for (const uint32_t *four = norms; n - i >= FOUR; i += FOUR, four += FOUR) {
        for (uint32_t j = 0; j < FOUR; j++) {
            take_large(&list, four[j], i + j);
        }
    }
    for (; i < n; i++) {
        take_large(&list, norms[i], i);
    }
}

static bool keeps_all(const model_t *model, uint8_t l) {
    return l + 1 == model->file.layers && fqt_settings(model)->sparse_head == 0; /* it is the last with weights */
}

fqt_kept_t fqt_keep(const model_t *model, uint8_t l, affine8_error_t error, float share) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t channels = layer->out_c, positions = (uint32_t)layer->out_h * layer->out_w;
    uint32_t *norms = (uint32_t *)(void *)model_buffer(model, FQT_RANK, l);
    uint16_t *kept = (uint16_t *)(void *)(norms + (channels + 1) / 2 * 2); /* from a multiple of 8 bytes on */
    const uint32_t count = keeps_all(model, l) ? channels : fqt_count(share, channels);
    if (count >= channels) {
        for (uint32_t o = 0; o < channels; o++) {
            kept[o] = (uint16_t)o;
        }
        return (fqt_kept_t){.kept = kept, .count = channels};
    }
    if (layer->format == FORMAT_AFFINE8) {
        affine8_error_norms(model_buffer(model, PLAN_ERROR, (uint8_t)(l + 1)), error.z, positions, channels, norms);
    } else {
        const float *errors = float32_buffer(model, PLAN_ERROR, (uint8_t)(l + 1));
        error_norms_f32(errors, positions, channels, (float *)(void *)norms);
    }
    fqt_select(norms, channels, count, kept);
    return (fqt_kept_t){.kept = kept, .count = count};
}
