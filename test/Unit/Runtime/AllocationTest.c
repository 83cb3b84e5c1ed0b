// Runs steps of the program given as argument with AllocationCounter preloaded
// and fails if Tenon allocates in them, or a library more than bookkeeping.

#define _GNU_SOURCE
#include "tenon/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  void (*start)(void) =
      (void (*)(void))dlsym(RTLD_DEFAULT, "allocation_counter_start");
  void (*stop)(long *, long *, long *) =
      (void (*)(long *, long *, long *))dlsym(RTLD_DEFAULT,
                                              "allocation_counter_stop");
  if (argc != 2 || !start || !stop) {
    fprintf(stderr, "usage: LD_PRELOAD=AllocationCounter.so AllocationTest "
                    "PROGRAM.tenon\n");
    return 2;
  }
  // oneDNN plans some of its matrix multiplications anew in every call, in 72
  // KiB whatever they multiply, and packs operands of some into buffers of the
  // size of its cache blocks: 556 KiB for a recurrent cell, the same for a
  // batch of 2 and of 32.
  enum { bookkeeping = 1 << 20 };
  long tenon, libraries, largest;
  // The counter must be able to fail this test.
  start();
  void *volatile kept = malloc(100); // or the compiler would leave it out
  free(kept);
  stop(&tenon, &libraries, &largest);
  if (tenon != 1) {
    fprintf(stderr, "the counter saw %ld allocations, expected 1\n", tenon);
    return 1;
  }
  for (unsigned threads = 1; threads <= 2; ++threads) {
    tenon_options options = TENON_OPTIONS_INIT;
    options.threads = threads;
    tenon_program *program;
    if (tenon_load(argv[1], &options, &program) != TENON_OK ||
        tenon_initialize_zeros(program) != TENON_OK) {
      fprintf(stderr, "%s\n", tenon_error_message());
      return 1;
    }
    // The batch is the zeros that are in its memory.
    for (size_t i = 0; i < tenon_tensor_count(program); ++i)
      tenon_mark_written(program, i);
    // What is set up once is set up in the first steps; the others are alike.
    enum { steps = 5 };
    tenon_status status = tenon_run(program, 3);
    start();
    for (int i = 0; i < steps && status == TENON_OK; ++i)
      status = tenon_run(program, 1);
    stop(&tenon, &libraries, &largest);
    if (status != TENON_OK) {
      fprintf(stderr, "%s\n", tenon_error_message());
      return 1;
    }
    printf("%u threads: %ld allocations by Tenon, %.1f by libraries per step, "
           "largest %ld bytes\n",
           threads, tenon, (double)libraries / steps, largest);
    tenon_unload(program);
    if (tenon != 0 || largest > bookkeeping) {
      fprintf(stderr, "a step must not allocate\n");
      return 1;
    }
  }
  return 0;
}
