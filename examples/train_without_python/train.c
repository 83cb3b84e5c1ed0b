/*===- train.c - Trains a compiled step from C ---------------------------===*
 *
 * Usage: train PROGRAM.tenon STATE.safetensors BATCH.safetensors STEPS SAVED
 *
 * Loads a step compiled by `tenon compile`, its start values and one batch,
 * trains on that batch, prints every scalar result as it goes, and saves the
 * trained state. With - instead of a file of state it starts at zero. Links
 * libtenon-runtime and nothing else:
 *
 *   cc train.c -ltenon-runtime -o train
 *
 *===---------------------------------------------------------------------===*/

#include "tenon/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, tenon_error_message());
  return 1;
}

/* Prints the results that are one number of type F32. */
static void print_scalars(const tenon_program *program, long step) {
  printf("step %ld", step);
  for (size_t i = 0; i < tenon_tensor_count(program); ++i) {
    tenon_tensor_info info = TENON_TENSOR_INFO_INIT;
    float value;
    if (tenon_get_tensor(program, i, &info) == TENON_OK &&
        info.kind == TENON_RESULT && info.rank == 0 &&
        strcmp(info.type, "F32") == 0 &&
        tenon_read(program, i, &value, sizeof(value)) == TENON_OK)
      printf(" %s %.6g", info.name, value);
  }
  printf("\n");
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr,
            "usage: %s PROGRAM.tenon STATE.safetensors "
            "BATCH.safetensors STEPS SAVED.safetensors\n",
            argv[0]);
    return 2;
  }
  long steps = strtol(argv[4], NULL, 10);
  /* The library that is found when this runs may be another than that of the
   * header. */
  if (tenon_version_number() / 1000 != TENON_VERSION_NUMBER / 1000) {
    fprintf(stderr, "the library is version %s, this was built for %d.%d\n",
            tenon_version(), TENON_VERSION_MAJOR, TENON_VERSION_MINOR);
    return 1;
  }
  /* Short memory is an error here, before the first step. */
  tenon_options options = TENON_OPTIONS_INIT;
  options.prefault = 1;
  tenon_program *program;
  if (tenon_load(argv[1], &options, &program) != TENON_OK)
    return fail("cannot load");
  int status = 0;
  if ((strcmp(argv[2], "-") == 0
           ? tenon_initialize_zeros(program)
           : tenon_load_state(program, argv[2])) != TENON_OK)
    status = fail("cannot start");
  else if (tenon_load_batch(program, argv[3]) != TENON_OK)
    status = fail("cannot read the batch");
  for (long step = 1; status == 0 && step <= steps; ++step) {
    if (tenon_run(program, 1) != TENON_OK)
      status = fail("cannot run");
    else if (step == 1 || step == steps || step % 10 == 0)
      print_scalars(program, step);
  }
  if (status == 0 && tenon_save_state(program, argv[5]) != TENON_OK)
    status = fail("cannot save");
  tenon_unload(program);
  return status;
}
