/* Which channels take part in the backward pass of a sample: docs/arithmetic-fqt.md, section 4. */
#include "formats/float32.h"
#include "kernels/error_norms_f32.h"
#include "methods/fqt.h"

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

/* Let heap[at] sink to where no channel below it has a smaller norm. */
static inline void sink(const uint32_t *norms, uint16_t *heap, uint32_t count, uint32_t at) {
    const uint16_t sinking = heap[at];
    const uint32_t norm = norms[sinking];
    for (uint32_t below = 2 * at + 1; below < count; below = 2 * at + 1) {
        if (below + 1 < count && norms[heap[below + 1]] < norms[heap[below]]) {
            below++;
        }
        if (norms[heap[below]] >= norm) {
            break;
        }
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = sinking;
}

/* The smallest of the `count` largest norms; how many of those that equal it belong to them goes to `equal`. A heap of
   channels, with the smallest norm first, meets each norm once. */
static uint32_t least_kept(const uint32_t *norms, uint32_t n, uint32_t count, uint16_t *heap, uint32_t *equal) {
    for (uint32_t i = 0; i < count; i++) {
        heap[i] = (uint16_t)i;
    }
    for (uint32_t at = count / 2; at-- > 0;) {
        sink(norms, heap, count, at);
    }
    uint32_t least = norms[heap[0]];
    for (uint32_t i = count; i < n; i++) {
        if (norms[i] > least) {
            heap[0] = (uint16_t)i;
            sink(norms, heap, count, 0);
            least = norms[heap[0]];
        }
    }
    *equal = 0;
    for (uint32_t i = 0; i < count; i++) {
        *equal += norms[heap[i]] == least;
    }
    return least;
}

void fqt_select(const uint32_t *norms, uint32_t n, uint32_t count, uint16_t *kept) {
    uint32_t equal;
    const uint32_t least = least_kept(norms, n, count, kept, &equal);
    for (uint32_t i = 0; i < n; i++) {
        if (norms[i] < least) {
            continue; /* as most */
        }
        const bool is_equal = norms[i] == least;
        if (!is_equal || equal > 0) {
            *kept++ = (uint16_t)i;
            equal -= is_equal;
        }
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
