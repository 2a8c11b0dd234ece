/* Writes network files (docs/network.md) for the tests. */
#ifndef NETWORK_FILE_H
#define NETWORK_FILE_H

#include <stdint.h>

#include "kernels/shapes.h"

enum { FILE_HEADER = 32, FILE_RECORD = 32, FILE_MOST_LAYERS = 32 };

/* A file that grows layer by layer; `bytes` are complete after file_finish(). */
typedef struct {
    uint8_t *bytes;
    uint32_t size;
    uint16_t layers, classes;
    layer_shape_t input; /* only its in_* */
    struct {
        uint8_t op, stride;
        int8_t exponent;
        layer_shape_t shape;
        uint32_t weights;
    } layer[FILE_MOST_LAYERS];
} network_file_t;

void file_begin(network_file_t *file, uint16_t h, uint16_t w, uint16_t c, uint16_t classes);
void file_conv2d(network_file_t *file, uint16_t out_c, uint8_t kernel_h, uint8_t kernel_w, uint8_t padding, int8_t exponent);
void file_fully_connected(network_file_t *file, uint16_t outputs, int8_t exponent);
void file_relu(network_file_t *file);
void file_max_pool(network_file_t *file, uint8_t k);

/* Write the bytes, with random weights in -bound..bound. */
void file_finish(network_file_t *file, int32_t bound);

/* Write the digest again, after a change of bytes. */
void file_seal(network_file_t *file);

void file_free(network_file_t *file);

/* conv, relu, pool, conv, relu, pool, fc, relu, fc on 8 x 8 x 2: every operation, small. */
void file_small_network(network_file_t *file);

/* Any graph of up to 32 layers. */
void file_random_network(network_file_t *file);

void put_u16(uint8_t *at, uint32_t value);
void put_u32(uint8_t *at, uint32_t value);
uint8_t *file_record(const network_file_t *file, uint32_t layer);

#endif
