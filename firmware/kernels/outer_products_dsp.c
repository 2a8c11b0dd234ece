/* Weight gradients on Armv7E-M: products of one vector with four errors, and of rows of positions. */
#include "kernels/backward_dsp.h"

#include <stddef.h>

#include "kernels/dsp.h"

#if KERNELS_DSP

/* One vector and four errors. */
typedef struct {
    const int8_t *in, *end; /* a multiple of four inputs, four at least */
    int32_t *row[OUTER_ROWS];
    uint32_t errors[OUTER_ROWS / 2]; /* of each two rows, in lanes of 16 bits */
    uint32_t negative_zero;          /* in both lanes */
} outer_products_t;

/* outer_products(), outer_products_from(): row[i][j] += error i times in[j], modulo 2^32; or times
   in[j] + negative_zero. A row may be there more than once. */

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(outer_products_t, negative_zero) == 32, "the assembly knows the fields");

/* By hand, for LDM and STM of four sums: r0-r3 sums, r4 inputs 1 and 3, r5 inputs 0 and 2, r6 where the inputs are, r7
   their end, r8-r11 where the rows are, r12 and lr the errors. */
#define ROW(from, half, errors)                                                                                        \
    "ldm " from                                                                                                        \
    ", {r0-r3}\n\t"                                                                                                    \
    "smlab" half " r0, r5, " errors ", r0\n\tsmlab" half " r1, r4, " errors                                            \
    ", r1\n\t"                                                                                                         \
    "smlat" half " r2, r5, " errors ", r2\n\tsmlat" half " r3, r4, " errors                                            \
    ", r3\n\t"                                                                                                         \
    "stm " from "!, {r0-r3}\n\t"

#define PRODUCTS(widen)                                                                                                \
    "push {r4-r11, lr}\n\t"                                                                                            \
    "ldr r1, [r0, #32]\n\t"                                                                                            \
    "push {r1}\n\t"                                                                                                    \
    "ldm r0, {r6-r12, lr}\n\t"                                                                                         \
    "1:\n\t"                                                                                                           \
    "ldr r4, [r6], #4\n\t" widen                                                                                       \
    ROW("r8", "b", "r12") ROW("r9", "t", "r12") ROW("r10", "b", "lr") ROW("r11", "t", "lr")                            \
    "cmp r6, r7\n\tbne 1b\n\t"                                                                                         \
    "add sp, #4\n\t"                                                                                                   \
    "pop {r4-r11, pc}\n\t"

__attribute__((naked, noipa)) static void outer_products(const outer_products_t *products) {
    __asm__ volatile(PRODUCTS("sxtb16 r5, r4\n\tsxtb16 r4, r4, ror #8\n\t"));
}

__attribute__((naked, noipa)) static void outer_products_from(const outer_products_t *products) {
    __asm__ volatile(PRODUCTS("ldr r0, [sp]\n\tsxtab16 r5, r0, r4\n\tsxtab16 r4, r0, r4, ror #8\n\t"));
}

#else

static void add_products_of(const outer_products_t *products, int32_t zero) {
    const uint32_t n = (uint32_t)(products->end - products->in);
    for (uint32_t i = 0; i < OUTER_ROWS; i++) {
        const int16_t error = (int16_t)(products->errors[i / 2] >> (16 * (i % 2)) & 0xFFFFu);
        for (uint32_t j = 0; j < n; j++) {
            int32_t *const sum = &products->row[i][j];
            *sum = (int32_t)((uint32_t)*sum + (uint32_t)(error * (products->in[j] + zero)));
        }
    }
}

SEPARATE static void outer_products(const outer_products_t *products) {
    add_products_of(products, 0);
}

SEPARATE static void outer_products_from(const outer_products_t *products) {
    add_products_of(products, (int16_t)(products->negative_zero & 0xFFFFu));
}

#endif

/* Add the rows that have been gathered; those that are missing add 0 to the first. */
static void add_rows(outer_rows_t *rows) {
    for (uint32_t i = rows->count; i < OUTER_ROWS; i++) {
        rows->error[i] = 0;
        rows->row[i] = rows->row[0];
    }
    const uint32_t fours = rows->inputs / 4 * 4;
    outer_products_t products = {.in = rows->in,
                                 .end = rows->in + fours,
                                 .negative_zero = low_lanes((uint32_t)-rows->zero, (uint32_t)-rows->zero)};
    for (uint32_t i = 0; i < OUTER_ROWS; i++) {
        products.row[i] = rows->row[i];
        for (uint32_t j = fours; j < rows->inputs; j++) {
            const int32_t product = rows->error[i] * (rows->in[j] - rows->zero);
            rows->row[i][j] = (int32_t)((uint32_t)rows->row[i][j] + (uint32_t)product);
        }
    }
    products.errors[0] = low_lanes((uint32_t)rows->error[0], (uint32_t)rows->error[1]);
    products.errors[1] = low_lanes((uint32_t)rows->error[2], (uint32_t)rows->error[3]);
    if (fours > 0 && rows->zero == 0) {
        outer_products(&products);
    } else if (fours > 0) {
        outer_products_from(&products);
    }
    rows->count = 0;
}

void outer_rows_take(outer_rows_t *rows, int32_t *row, int32_t error) {
    rows->error[rows->count] = error;
    rows->row[rows->count] = row;
    if (++rows->count == OUTER_ROWS) {
        add_rows(rows);
    }
}

void outer_rows_finish(outer_rows_t *rows) {
    if (rows->count > 0) {
        add_rows(rows);
    }
}

enum { FOURS = 32, WIDEST = 5, SAMPLE = 31 };

/* The errors of four neighbouring positions: the first and the third in lanes, the second and the fourth. */
typedef struct {
    uint32_t at; /* of the first window in a plane */
    uint32_t even, odd;
} four_t;

/* Those that wait. */
typedef struct {
    const layer_shape_t *shape;
    const int8_t *planes;
    uint32_t width, plane; /* bytes of a row and of a plane */
    int32_t *sum;
    uint32_t count;
    four_t four[FOURS];
} fours_t;

/* Counted with errors from dense to one in ten, the two ways meet where between 2 and 3 errors of four are not 0, by
   the shape. Every 31st error is looked at, which is enough for a choice that changes no result. */
bool gradient_fours_take(const layer_shape_t *shape, const affine8_errors_t *errors) {
    if (shape->kernel_w != 3 && shape->kernel_w != WIDEST) {
        return false;
    }
    const uint32_t all = (uint32_t)shape->out_h * shape->out_w * errors->count;
    const uint32_t places = (shape->out_w + 3u) / 4 * 4 * shape->out_h * errors->count;
    uint32_t found = 0;
    for (uint32_t i = 0; i < all; i += SAMPLE) {
        found += errors->error[i] != errors->zero;
    }
    return found * SAMPLE * 8 >= places * 5;
}

/* A row of the input, to the rows of its channels. */
static inline void take_row(const int8_t *in, uint32_t in_c, uint32_t inside, uint32_t plane, int8_t *row) {
    for (uint32_t x = 0; x < inside; x++) {
        for (uint32_t c = 0; c < in_c; c++) {
            row[c * plane + x] = *in++;
        }
    }
}

void gradient_fours_planes(const int8_t *in, const layer_shape_t *shape, int8_t zero, uint32_t first, uint32_t rows,
                           int8_t *planes) {
    const uint32_t in_c = shape->in_c, in_w = shape->in_w, above = shape->padding_h, left = shape->padding_w;
    const uint32_t width = gradient_fours_width(shape), plane = rows * width, room = width - left;
    const uint32_t inside = in_w < room ? in_w : room;
    memset(planes, zero, plane * in_c);
    int8_t *row = planes + left;
    for (uint32_t padded_y = first; padded_y < first + rows; padded_y++, row += width) {
        const uint32_t y = padded_y - above; /* beyond the input, above it too, where the row is padding */
        if (y < shape->in_h) {
            take_row(in + y * in_w * in_c, in_c, inside, plane, row);
        }
    }
}

/* Add the products of all fours to the sums of a row of taps, which are `step` apart. Input j + i meets error i at tap
   j: so the lanes of inputs j and j + 2 meet the even errors at tap j and the odd ones at tap j - 1. */
INLINED void add_row(const fours_t *fours, const int8_t *row, uint32_t taps, int32_t *sum, uint32_t step) {
    int32_t s[WIDEST] = {0};
    const four_t *const end = fours->four + fours->count;
    for (const four_t *four = fours->four; four != end; four++) {
        const uint32_t even = four->even, odd = four->odd;
        const int8_t *in = row + four->at;
        for (uint32_t j = 0; j < taps; j += 2, in += 2) {
            const uint32_t word = load_word(in), first = even_lanes(word), second = odd_lanes(word);
            if (j > 0) {
                s[j - 1] = add_products(s[j - 1], first, odd);
            }
            s[j] = add_products(s[j], first, even);
            s[j] = add_products(s[j], second, odd);
            if (j + 1 < taps) {
                s[j + 1] = add_products(s[j + 1], second, even);
            }
        }
    }
    for (uint32_t j = 0; j < taps; j++, sum += step) {
        *sum = (int32_t)((uint32_t)*sum + (uint32_t)s[j]);
    }
}

static void add_fours(fours_t *fours) {
    const uint32_t in_c = fours->shape->in_c, kernel_w = fours->shape->kernel_w;
    for (uint32_t ky = 0; ky < fours->shape->kernel_h; ky++) {
        for (uint32_t c = 0; c < in_c; c++) {
            const int8_t *const row = fours->planes + c * fours->plane + ky * fours->width;
            int32_t *const sum = fours->sum + ky * kernel_w * in_c + c;
            if (kernel_w == WIDEST) {
                add_row(fours, row, WIDEST, sum, in_c);
            } else {
                add_row(fours, row, 3, sum, in_c);
            }
        }
    }
    fours->count = 0;
}

/* One four more, unless all its errors are 0. */
static inline void take(fours_t *fours, uint32_t at, int32_t e0, int32_t e1, int32_t e2, int32_t e3) {
    if ((e0 | e1 | e2 | e3) == 0) {
        return;
    }
    four_t *const four = &fours->four[fours->count++];
    four->at = at;
    four->even = low_lanes((uint32_t)e0, (uint32_t)e2);
    four->odd = low_lanes((uint32_t)e1, (uint32_t)e3);
    if (fours->count == FOURS) {
        add_fours(fours);
    }
}

/* A zero point of 0 is a constant to the compiler. */
static inline void take_all(fours_t *fours, uint32_t count, uint32_t channels, int32_t zero, const int8_t *error) {
    const uint32_t out_w = fours->shape->out_w, rest = out_w % 4;
    for (uint32_t y = 0; y < count; y++) {
        uint32_t at = y * fours->width;
        for (const uint32_t end = at + out_w - rest; at != end; at += 4, error += 4 * channels) {
            take(fours, at, error[0] - zero, error[channels] - zero, error[2 * channels] - zero,
                 error[3 * channels] - zero);
        }
        if (rest > 0) {
            take(fours, at, error[0] - zero, rest > 1 ? error[channels] - zero : 0,
                 rest > 2 ? error[2 * channels] - zero : 0, 0);
            error += rest * channels;
        }
    }
}

void gradient_fours_add(const int8_t *planes, uint32_t count, const affine8_errors_t *errors, const int8_t *error,
                        const layer_shape_t *shape, int32_t *sum) {
    const uint32_t width = gradient_fours_width(shape);
    fours_t fours;
    fours.shape = shape;
    fours.planes = planes;
    fours.width = width;
    fours.plane = (count + shape->kernel_h - 1) * width;
    fours.sum = sum;
    fours.count = 0;
    if (errors->zero == 0) {
        take_all(&fours, count, errors->count, 0, error);
    } else {
        take_all(&fours, count, errors->count, errors->zero, error);
    }
    if (fours.count > 0) {
        add_fours(&fours);
    }
}

#endif
