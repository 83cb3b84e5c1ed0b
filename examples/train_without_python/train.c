/*===- train.c - Trains a compiled step from C ---------------------------===*
 *
 * Usage: train PROGRAM.tenon STATE.safetensors BATCH.safetensors STEPS SAVED
 *
 * Loads a step compiled by `tenon compile`, its start values and one batch,
 * trains on that batch, prints every scalar result as it goes, and saves the
 * trained state. Links libtenon-runtime and nothing else:
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
    tenon_tensor_info info;
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
  tenon_program *program;
  if (tenon_load(argv[1], NULL, &program) != TENON_OK)
    return fail("cannot load");
  int status = 0;
  if (tenon_load_state(program, argv[2]) != TENON_OK)
    status = fail("cannot start");
  else if (tenon_load_arguments(program, argv[3]) != TENON_OK)
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
