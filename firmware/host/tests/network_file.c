#include "network_file.h"

#include <string.h>

#include "arith/xxh32.h"
#include "check.h"
#include "net/network.h"
#include "shapes_drawn.h"

void put_u16(uint8_t *at, uint32_t value) {
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

void put_u32(uint8_t *at, uint32_t value) {
    put_u16(at, value & 0xFFFFu);
    put_u16(at + 2, value >> 16);
}

uint8_t *file_record(const network_file_t *file, uint32_t layer) {
    return file->bytes + FILE_HEADER + layer * FILE_RECORD;
}

void file_begin(network_file_t *file, uint16_t h, uint16_t w, uint16_t c, uint16_t classes) {
    *file = (network_file_t){.classes = classes, .input = {.in_h = h, .in_w = w, .in_c = c}};
}

/* The shape of a further layer, its input filled in. */
static layer_shape_t next_shape(const network_file_t *file) {
    layer_shape_t shape = {.in_h = file->input.in_h, .in_w = file->input.in_w, .in_c = file->input.in_c};
    if (file->layers > 0) {
        const layer_shape_t *before = &file->layer[file->layers - 1].shape;
        shape = (layer_shape_t){.in_h = before->out_h, .in_w = before->out_w, .in_c = before->out_c};
    }
    return shape;
}

static void add_layer(network_file_t *file, uint8_t op, uint8_t stride, int8_t exponent, layer_shape_t shape, uint32_t weights) {
    CHECK(file->layers < FILE_MOST_LAYERS, "too many layers");
    file->layer[file->layers].op = op;
    file->layer[file->layers].stride = stride;
    file->layer[file->layers].exponent = exponent;
    file->layer[file->layers].shape = shape;
    file->layer[file->layers].weights = weights;
    file->layers++;
}

void file_conv2d(network_file_t *file, uint16_t out_c, uint8_t kernel_h, uint8_t kernel_w, uint8_t padding, int8_t exponent) {
    layer_shape_t shape = next_shape(file);
    shape.kernel_h = kernel_h;
    shape.kernel_w = kernel_w;
    shape.padding = padding;
    shape.out_h = (uint16_t)(shape.in_h + 2 * padding - kernel_h + 1);
    shape.out_w = (uint16_t)(shape.in_w + 2 * padding - kernel_w + 1);
    shape.out_c = out_c;
    add_layer(file, OP_CONV2D, 1, exponent, shape, conv2d_weights(&shape));
}

void file_fully_connected(network_file_t *file, uint16_t outputs, int8_t exponent) {
    layer_shape_t shape = next_shape(file);
    shape.out_h = shape.out_w = 1;
    shape.out_c = outputs;
    add_layer(file, OP_FULLY_CONNECTED, 0, exponent, shape, shape_inputs(&shape) * outputs);
}

void file_relu(network_file_t *file) {
    layer_shape_t shape = next_shape(file);
    shape.out_h = shape.in_h;
    shape.out_w = shape.in_w;
    shape.out_c = shape.in_c;
    add_layer(file, OP_RELU, 0, 0, shape, 0);
}

void file_max_pool(network_file_t *file, uint8_t k) {
    layer_shape_t shape = next_shape(file);
    shape.kernel_h = shape.kernel_w = k;
    shape.out_h = (uint16_t)(shape.in_h / k);
    shape.out_w = (uint16_t)(shape.in_w / k);
    shape.out_c = shape.in_c;
    add_layer(file, OP_MAX_POOL, k, 0, shape, 0);
}

static void write_shape(uint8_t *record, const layer_shape_t *shape) {
    const uint16_t sizes[] = {shape->in_h, shape->in_w, shape->in_c, shape->out_h, shape->out_w, shape->out_c};
    for (uint32_t i = 0; i < 6; i++) {
        put_u16(record + 8 + 2 * i, sizes[i]);
    }
}

static void write_header(network_file_t *file) {
    uint8_t *header = file->bytes;
    put_u32(header, 0x54454E48u);
    put_u16(header + 4, 1);
    put_u16(header + 6, file->layers);
    put_u32(header + 8, file->size);
    put_u16(header + 16, file->input.in_h);
    put_u16(header + 18, file->input.in_w);
    put_u16(header + 20, file->input.in_c);
    put_u16(header + 22, file->classes);
    header[24] = (uint8_t)-7;
}

static uint32_t padded(uint32_t size) {
    return (size + 3) / 4 * 4;
}

void file_finish(network_file_t *file, int32_t bound) {
    uint32_t offset = (uint32_t)(FILE_HEADER + file->layers * FILE_RECORD);
    file->size = offset;
    for (uint32_t i = 0; i < file->layers; i++) {
        file->size += padded(file->layer[i].weights);
    }
    file->bytes = memset(take(file->size), 0, file->size);
    write_header(file);
    for (uint32_t i = 0; i < file->layers; i++) {
        uint8_t *record = file_record(file, i);
        const layer_shape_t *shape = &file->layer[i].shape;
        const uint8_t begin[] = {file->layer[i].op, shape->kernel_h, shape->kernel_w, file->layer[i].stride, shape->padding};
        memcpy(record, begin, sizeof begin);
        record[5] = (uint8_t)file->layer[i].exponent;
        write_shape(record, shape);
        if (file->layer[i].op == OP_CONV2D || file->layer[i].op == OP_FULLY_CONNECTED) {
            put_u32(record + 20, offset);
            put_u32(record + 24, file->layer[i].weights);
            int8_t *weights = draw_s8(file->layer[i].weights, bound);
            memcpy(file->bytes + offset, weights, file->layer[i].weights);
            free(weights);
            offset += padded(file->layer[i].weights);
        }
    }
    file_seal(file);
}

void file_seal(network_file_t *file) {
    put_u32(file->bytes + 12, xxh32(file->bytes + 16, file->size - 16, 0));
}

void file_free(network_file_t *file) {
    free(file->bytes);
}

void file_small_network(network_file_t *file) {
    file_begin(file, 8, 8, 2, 5);
    file_conv2d(file, 3, 3, 3, 1, -8);
    file_relu(file);
    file_max_pool(file, 2);
    file_conv2d(file, 5, 3, 2, 1, -9);
    file_relu(file);
    file_max_pool(file, 2);
    file_fully_connected(file, 11, -9);
    file_relu(file);
    file_fully_connected(file, 5, -8);
    file_finish(file, 127);
}

/* One more layer of a random graph; nothing where the drawn one has no room. */
static void add_random_layer(network_file_t *file) {
    const layer_shape_t in = next_shape(file);
    const uint8_t padding = (uint8_t)draw(0, 2), kernel = (uint8_t)draw(padding + 1, 4), k = (uint8_t)draw(1, 3);
    switch (draw(1, 4)) {
    case OP_CONV2D:
        if (in.in_h + 2 * padding >= kernel && in.in_w + 2 * padding >= kernel) {
            file_conv2d(file, (uint16_t)draw(1, 6), kernel, kernel, padding, (int8_t)draw(-12, -6));
        }
        break;
    case OP_FULLY_CONNECTED:
        if (draw(0, 3) == 0) {
            file_fully_connected(file, (uint16_t)draw(1, 12), (int8_t)draw(-12, -6));
        }
        break;
    case OP_RELU:
        if (file->layers > 0 && file->layer[file->layers - 1].op != OP_RELU) {
            file_relu(file);
        }
        break;
    default:
        if (in.in_h >= k && in.in_w >= k) {
            file_max_pool(file, k);
        }
    }
}

void file_random_network(network_file_t *file) {
    const uint16_t classes = (uint16_t)draw(2, 9);
    const int32_t layers = draw(0, 9) == 0 ? FILE_MOST_LAYERS : draw(1, 10);
    file_begin(file, (uint16_t)draw(1, 9), (uint16_t)draw(1, 9), (uint16_t)draw(1, 4), classes);
    for (int32_t i = 0; i < 3 * layers && file->layers < layers - 1; i++) {
        add_random_layer(file);
    }
    file_fully_connected(file, classes, (int8_t)draw(-12, -6));
    file_finish(file, draw(0, 3) == 0 ? 20 : 127);
}
