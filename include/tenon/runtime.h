/*===- runtime.h - Tenon's C interface ----------------------------------===*
 *
 * Runs a training step that `tenon compile` has put into a `.tenon` file. Link
 * with -ltenon-runtime; nothing of the compiler is needed.
 *
 *   tenon_program *program;
 *   if (tenon_load("step.tenon", NULL, &program) != TENON_OK)
 *     fail(tenon_error_message());
 *   tenon_load_state(program, "init.safetensors");
 *   for (int step = 0; step < 100; ++step) {
 *     tenon_write(program, x, images, image_bytes);
 *     tenon_write(program, y, labels, label_bytes);
 *     tenon_run(program, 1);
 *     tenon_read(program, loss, &value, sizeof(value));
 *   }
 *   tenon_save_state(program, "trained.safetensors");
 *   tenon_unload(program);
 *
 * A `.tenon` file is a program: loading and running it executes the machine
 * code in it. Load only files that you trust.
 *
 * Every function returns TENON_OK or an error; no input makes it abort. A
 * program is used by one thread at a time, several programs are independent.
 *
 *===--------------------------------------------------------------------===*/

#ifndef TENON_RUNTIME_H
#define TENON_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_API
#endif

/* Grows by appending only. */
typedef enum tenon_status {
  TENON_OK = 0,
  TENON_ERROR_FILE = 1,     /* missing, unreadable, damaged or not writable */
  TENON_ERROR_MACHINE = 2,  /* this processor or its libraries cannot run it */
  TENON_ERROR_MEMORY = 3,   /* not enough memory */
  TENON_ERROR_ARGUMENT = 4, /* a null pointer, an unknown name, a wrong size;
                               or tensors of a file that do not fit */
  TENON_ERROR_RUN = 5,      /* a library call failed while running */
  TENON_ERROR_INTERNAL = 6  /* a fault of Tenon's */
} tenon_status;

/* Why the last call of this thread that failed did; never null, valid until the
 * thread's next call. */
TENON_API const char *tenon_error_message(void);

/* The version of the library, "0.1.0". */
TENON_API const char *tenon_version(void);

typedef struct tenon_program tenon_program;

/* Zero-initialise and set what matters. */
typedef struct tenon_options {
  uint32_t threads;        /* 0: as many as the process has processors */
  uint32_t keep_denormals; /* 0: denormal numbers count as zero, as in XLA */
} tenon_options;

/* Loads a file; `options` may be null. State, batch and results are zero until
 * they are written. */
TENON_API tenon_status tenon_load(const char *path,
                                  const tenon_options *options,
                                  tenon_program **program);
/* As tenon_load, from the bytes of a file, which are not needed afterwards. */
TENON_API tenon_status tenon_load_bytes(const void *bytes, size_t size,
                                        const tenon_options *options,
                                        tenon_program **program);
/* Frees everything; null is fine. */
TENON_API void tenon_unload(tenon_program *program);

/* What a tensor is to the step. */
typedef enum tenon_kind {
  TENON_STATE = 0, /* carried from step to step */
  TENON_BATCH = 1, /* given by the caller for a step */
  TENON_RESULT = 2 /* made by a step, not carried */
} tenon_kind;

typedef struct tenon_tensor_info {
  const char *name; /* canonical */
  const char *type; /* as in safetensors: "F32", "BF16", "I32", "BOOL", ... */
  const char *role; /* "parameter", "optimizer_state", "batch", ... */
  tenon_kind kind;
  uint32_t rank;
  const int64_t *shape; /* `rank` extents, row-major */
  uint64_t bytes;
  int32_t argument; /* position among the step's arguments, -1 for none */
  int32_t result;   /* position among the step's results, -1 for none */
} tenon_tensor_info;

/* How many tensors the signature has: arguments in order, then results that are
 * no state. */
TENON_API size_t tenon_tensor_count(const tenon_program *program);
/* What is in `info` lives as long as the program. */
TENON_API tenon_status tenon_get_tensor(const tenon_program *program,
                                        size_t tensor, tenon_tensor_info *info);
/* By canonical name, full path, `arg<i>` or `result<i>`. */
TENON_API tenon_status tenon_find_tensor(const tenon_program *program,
                                         const char *name, size_t *tensor);

/* Copies a whole tensor; `bytes` must be its size. */
TENON_API tenon_status tenon_write(tenon_program *program, size_t tensor,
                                   const void *from, size_t bytes);
TENON_API tenon_status tenon_read(const tenon_program *program, size_t tensor,
                                  void *to, size_t bytes);
/* Where the tensor is, to be read and written in place between steps; valid
 * until it is bound elsewhere. */
TENON_API tenon_status tenon_data(const tenon_program *program, size_t tensor,
                                  void **data);
/* Lets the tensor live in the caller's memory without copying: `bytes` must be
 * its size, the address a multiple of 64, the memory alive until it is bound
 * elsewhere or the program unloaded. Null goes back to the program's own
 * memory. Contents are not copied either way. */
TENON_API tenon_status tenon_bind(tenon_program *program, size_t tensor,
                                  void *memory, size_t bytes);

/* Runs `steps` steps in a row with the same batch. */
TENON_API tenon_status tenon_run(tenon_program *program, int64_t steps);

/* Reads all state from a safetensors file, under any of the tensors' names.
 * If any tensor is missing or has another type or shape nothing is changed and
 * the message lists all of them. */
TENON_API tenon_status tenon_load_state(tenon_program *program,
                                        const char *path);
/* Reads those arguments, state and batch, that the file holds. */
TENON_API tenon_status tenon_load_arguments(tenon_program *program,
                                            const char *path);
/* Saves all state under canonical names. Whoever opens `path` sees the old file
 * or the whole new one, also after a kill or with a full disk. */
TENON_API tenon_status tenon_save_state(const tenon_program *program,
                                        const char *path);
/* Saves the results that are no state, named `result<i>`, in the same way. */
TENON_API tenon_status tenon_save_results(const tenon_program *program,
                                          const char *path);

#ifdef __cplusplus
}
#endif

#endif /* TENON_RUNTIME_H */
