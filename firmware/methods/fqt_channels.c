/* Which channels take part in the backward pass of a sample: docs/arithmetic-fqt.md, section 4. */
#include "formats/float32.h"
#include "kernels/error_norms_f32.h"
#include "methods/fqt.h"

enum { BITS = 32 };

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

/* How many of n norms are so large. */
static uint32_t count_from(const uint32_t *norms, uint32_t n, uint32_t least) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += norms[i] >= least;
    }
    return count;
}

/* The smallest norm that is kept is found bit by bit. */
void fqt_select(const uint32_t *norms, uint32_t n, uint32_t count, uint16_t *kept) {
    uint32_t least = 0;
    for (uint32_t bit = BITS; bit-- > 0;) {
        const uint32_t more = least | UINT32_C(1) << bit;
        least = count_from(norms, n, more) >= count ? more : least;
    }
    uint32_t larger = 0;
    for (uint32_t i = 0; i < n; i++) {
        larger += norms[i] > least;
    }
    uint32_t equal = count - larger; /* that are kept, in order */
    for (uint32_t i = 0; i < n; i++) {
        const bool is_equal = norms[i] == least && equal > 0;
        equal -= is_equal;
        if (norms[i] > least || is_equal) {
            *kept++ = (uint16_t)i;
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
        fqt_select(norms, channels, count, kept);
    } else {
        const float *errors = float32_buffer(model, PLAN_ERROR, (uint8_t)(l + 1));
        error_norms_f32(errors, positions, channels, (float *)(void *)norms);
        fqt_select(norms, channels, count, kept);
    }
    return (fqt_kept_t){.kept = kept, .count = count};
}
