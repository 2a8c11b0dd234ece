/* A text protocol of this engine, on standard input and output. One letter is one command:
 *
 *   t  train a step      answers   step 3 loss 0x3f2d1c55
 *   w  the weights       answers   w1 0x3e0f1234 0x... and so on, four lines
 *   e  evaluate          answers   accuracy 0.975
 *
 * Floats of a comparison are printed as their bits: no digit is lost, and newlib needs no float in printf. */
#include "mlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    printf(" 0x%08" PRIx32, bits);
}

static void print_tensor(const char *name, const float *values, int count) {
    printf("%s", name);
    for (int i = 0; i < count; i++) {
        print_bits(values[i]);
    }
    printf("\n");
}

int main(void) {
    mlp_t net;
    int step = 0, command;
    mlp_init(&net);
    printf("ready mlp, %u bytes of weights\n", (unsigned)sizeof net);
    while ((command = getchar()) != EOF) {
        if (command == 't') {
            const float loss = mlp_step(&net, step);
            printf("step %d loss", step++);
            print_bits(loss);
            printf("\n");
        } else if (command == 'w') {
            print_tensor("w1", &net.w1[0][0], HIDDEN * INPUTS);
            print_tensor("b1", net.b1, HIDDEN);
            print_tensor("w2", &net.w2[0][0], CLASSES * HIDDEN);
            print_tensor("b2", net.b2, CLASSES);
        } else if (command == 'e') {
            const int permille = (int)(1000.0f * mlp_accuracy(&net, 200) + 0.5f);
            printf("accuracy %d.%03d\n", permille / 1000, permille % 1000);
        }
        fflush(stdout);
    }
    return 0;
}
