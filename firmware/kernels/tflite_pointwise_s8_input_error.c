#include "kernels/convolution.h"

#include "kernels/fully_connected.h"

void tflite_pointwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int32_t *acc) {
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0; left--) {
        fully_connected_s8_input_error(error, weights, shape->in_c, shape->out_c, acc);
        error += shape->out_c;
        acc += shape->in_c;
    }
}
