// The part of Arduino's API that the library uses, over the file descriptor PORT: no core of Arduino is in the packages here.
#pragma once

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

class Stream {
  public:
    virtual int available() = 0;
    virtual int read() = 0;
    virtual size_t write(const uint8_t *bytes, size_t n) = 0;
};

class HardwareSerial : public Stream {
  public:
    void begin(unsigned long) {
        port = atoi(getenv("PORT"));
    }
    int available() override {
        pollfd one = {port, POLLIN, 0};
        poll(&one, 1, 1);
        return (one.revents & POLLIN) != 0;
    }
    int read() override {
        uint8_t byte = 0;
        return ::read(port, &byte, 1) == 1 ? byte : -1;
    }
    size_t write(const uint8_t *bytes, size_t n) override {
        return (size_t)::write(port, bytes, n);
    }

  private:
    int port = -1;
};

static HardwareSerial Serial;

static inline unsigned long micros() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long)now.tv_sec * 1000000ul + (unsigned long)now.tv_nsec / 1000ul;
}

void setup();
void loop();

int main() {
    setup();
    for (;;) {
        loop();
    }
}
