/* A state_dict with one tensor, as torch.save writes it, and further values. */
#include "fuzz.h"
#include "testing.h"

static const char EXAMPLE[] = "\x80\x02}q\x00(X\x0f\x00\x00\x00network_weightsq\x01"
                              "ccollections\nOrderedDict\nq\x02)Rq\x03X\x06\x00\x00\x00weightq\x04"
                              "ctorch._utils\n_rebuild_tensor_v2\nq\x05((X\x07\x00\x00\x00storageq\x06"
                              "ctorch\nFloatStorage\nq\x07X\x01\x00\x00\x00"
                              "0q\x08X\x03\x00\x00\x00"
                              "cpuq\tK\x04tq\nQK\x00K\x02K\x02\x86q\x0bK\x02K\x01\x86q\x0c\x89h\x02)Rq\rtq\x0eRq\x0fs}"
                              "q\x10X\x09\x00\x00\x00_metadata"
                              "q\x11}q\x12sbX\x04\x00\x00\x00listq\x13]q\x14("
                              "K\x01M\x00\x02J\x00\x00\x00\x80\x8a\x01\xffG?\xf0\x00\x00\x00\x00\x00\x00"
                              "N\x88\x89"
                              "eu.";

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    (void)test_random(random);
    memcpy(bytes, EXAMPLE, sizeof EXAMPLE - 1);
    *front = sizeof EXAMPLE - 1;
    return *front;
}
