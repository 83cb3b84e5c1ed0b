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
 * Every function returns TENON_OK or an error; no input makes it abort, and no
 * C++ exception leaves it. A program is used by one thread at a time: a call
 * that finds another one at work returns TENON_ERROR_BUSY and does nothing.
 * Several programs are independent.
 *
 * Structs that may grow begin with their size, so that programs built with an
 * older header go on working. Start them with their TENON_..._INIT.
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

/* The version of this header. What is built with it runs with every library of
 * the same major and at least the same minor version; before 1.0 the minor
 * version must be the same. */
#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 2
#define TENON_VERSION_PATCH 0
/* The version as one number that grows, to compare with
 * tenon_version_number(). */
#define TENON_VERSION_NUMBER                                                   \
  (TENON_VERSION_MAJOR * 1000000 + TENON_VERSION_MINOR * 1000 +                \
   TENON_VERSION_PATCH)

/* Grows by appending only. */
typedef enum tenon_status {
  TENON_OK = 0,
  TENON_ERROR_FILE = 1,     /* missing, unreadable, damaged or not writable */
  TENON_ERROR_MACHINE = 2,  /* this processor, its libraries or this GPU cannot
                               run it */
  TENON_ERROR_MEMORY = 3,   /* not enough memory */
  TENON_ERROR_ARGUMENT = 4, /* a null pointer, an unknown name, a wrong size;
                               or tensors of a file that do not fit */
  TENON_ERROR_RUN = 5,      /* a library call or the GPU failed while running */
  TENON_ERROR_INTERNAL = 6, /* a fault of Tenon's */
  TENON_ERROR_BUSY = 7,     /* another thread is using the program */
  TENON_ERROR_VALUE = 8     /* an argument has no value: it was never given one,
                               or a failed step may have written a part of it */
} tenon_status;

/* Why the last call of this thread that failed did; never null, valid until the
 * thread's next call. */
TENON_API const char *tenon_error_message(void);

/* The version of the library, "0.2.0". */
TENON_API const char *tenon_version(void);
/* The same as a number, see TENON_VERSION_NUMBER. */
TENON_API uint32_t tenon_version_number(void);

typedef struct tenon_program tenon_program;

/* Start with TENON_OPTIONS_INIT and set what matters. */
typedef struct tenon_options {
  uint32_t struct_size; /* sizeof(tenon_options) */
  uint32_t threads;     /* 0: as many as the process has processors */
  uint32_t prefault;    /* 1: take all memory while loading, not when a step
                           first touches it */
  /* For a file for GPUs: which one runs it, counted from 0, and the file of the
   * CUDA driver; null for the one that is installed. */
  uint32_t gpu;
  const char *cuda_driver;
  /* For one that calls cuBLASLt: the library's file, null for the one that is
   * installed; the folder that remembers which of its algorithms run, null for
   * the usual one and "none" for none. */
  const char *cublaslt;
  const char *algorithm_cache;
  /* For a file for GPUs: a CUstream or cudaStream_t of the GPU's primary
   * context, into which all work is put, and which outlives the program; null
   * for one of the program's own. */
  void *cuda_stream;
  uint32_t tune;  /* 1: take the fastest of cuBLASLt's algorithms */
  uint32_t ranks; /* of a file for a mesh: how many ranks run it, all in this
                     process, which share its threads; 0: one */
} tenon_options;

#define TENON_OPTIONS_INIT                                                     \
  { sizeof(tenon_options), 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0 }

/* Loads a file; `options` may be null. TENON_ERROR_MEMORY if the machine, a
 * control group or a limit of the process leaves less memory than is planned
 * for the file; the message has both numbers of bytes. */
TENON_API tenon_status tenon_load(const char *path,
                                  const tenon_options *options,
                                  tenon_program **program);
/* As tenon_load, from the bytes of a file, which are not needed afterwards. */
TENON_API tenon_status tenon_load_bytes(const void *bytes, size_t size,
                                        const tenon_options *options,
                                        tenon_program **program);
/* Frees everything; null is fine. While another thread is using the program
 * nothing is freed and TENON_ERROR_BUSY returned. No call may follow. */
TENON_API tenon_status tenon_unload(tenon_program *program);

/* What a tensor is to the step. */
typedef enum tenon_kind {
  TENON_STATE = 0,  /* carried from step to step */
  TENON_BATCH = 1,  /* given by the caller for a step */
  TENON_RESULT = 2, /* made by a step, not carried */
  /* Of another entry point, such as `eval`; named `eval.x`, `eval.loss`. */
  TENON_ENTRY_INPUT = 3,
  TENON_ENTRY_RESULT = 4
} tenon_kind;

/* Start with TENON_TENSOR_INFO_INIT. */
typedef struct tenon_tensor_info {
  uint32_t struct_size; /* sizeof(tenon_tensor_info) */
  tenon_kind kind;
  const char *name; /* canonical */
  const char *type; /* as in safetensors: "F32", "BF16", "I32", "BOOL", ... */
  const char *role; /* "parameter", "optimizer_state", "batch", ... */
  const int64_t *shape; /* `rank` extents, row-major */
  size_t rank;
  uint64_t bytes;
  int32_t argument; /* position among the step's arguments, -1 for none */
  int32_t result;   /* position among the step's results, -1 for none */
} tenon_tensor_info;

#define TENON_TENSOR_INFO_INIT                                                 \
  { sizeof(tenon_tensor_info), TENON_STATE, NULL, NULL, NULL, NULL, 0, 0, 0, 0 }

/* How many tensors the signature has: arguments in order, then results that are
 * no state, then inputs and results of other entry points. */
TENON_API size_t tenon_tensor_count(const tenon_program *program);
/* What is in `info` lives as long as the program. */
TENON_API tenon_status tenon_get_tensor(const tenon_program *program,
                                        size_t tensor, tenon_tensor_info *info);
/* By canonical name, full path, `arg<i>` or `result<i>`. */
TENON_API tenon_status tenon_find_tensor(const tenon_program *program,
                                         const char *name, size_t *tensor);

/* Every argument, state and batch, needs a value before a step runs and before
 * state is saved: from a file, tenon_write(), tenon_bind(),
 * tenon_mark_written() or tenon_initialize_zeros(). */

/* Copies a whole tensor; `bytes` must be its size. A program may hold a tensor
 * in another form, in another type or in two parts, or keep copies of it in
 * other forms; what is written and read is the tensor all the same. */
TENON_API tenon_status tenon_write(tenon_program *program, size_t tensor,
                                   const void *from, size_t bytes);
TENON_API tenon_status tenon_read(const tenon_program *program, size_t tensor,
                                  void *to, size_t bytes);
/* Where the tensor is, to be read and written in place between steps; valid
 * until it is bound elsewhere. TENON_ERROR_ARGUMENT, with the reason, if the
 * program holds it in another form or keeps copies of it: tenon_read() and
 * tenon_write() copy it. tenon_mark_written() and tenon_bind() do the same. */
TENON_API tenon_status tenon_data(const tenon_program *program, size_t tensor,
                                  void **data);
/* Says that an argument has been written in place, through tenon_data() or
 * tenon_device_data(), which cannot be seen otherwise. Once is enough. */
TENON_API tenon_status tenon_mark_written(tenon_program *program,
                                          size_t tensor);
/* Lets the tensor live in the caller's memory without copying: `bytes` must be
 * its size, the address a multiple of 64, the memory alive until it is bound
 * elsewhere or the program unloaded. What is there is the tensor's value. Null
 * goes back to the program's own memory, where an argument has no value until
 * it is written. Contents are not copied either way. */
TENON_API tenon_status tenon_bind(tenon_program *program, size_t tensor,
                                  void *memory, size_t bytes);
/* The same with memory of the GPU, for programs that run on one:
 * TENON_ERROR_ARGUMENT on a processor, if the program holds the tensor in
 * another form, or if `memory` is no memory of that GPU, or less than the
 * tensor has. What work of other streams does with the memory must be ordered
 * by the caller: by giving the program their stream, or by waiting for them. */

/* Where the tensor is in the GPU's memory, valid as for tenon_data(). */
TENON_API tenon_status tenon_device_data(const tenon_program *program,
                                         size_t tensor, void **data);
/* As tenon_bind(). Takes as long as loading the step into the GPU does: who has
 * another place for each batch copies it with tenon_write_from_device(). */
TENON_API tenon_status tenon_bind_device(tenon_program *program, size_t tensor,
                                         void *memory, size_t bytes);
/* As tenon_write() and tenon_read(), within the GPU. The copy has ended when
 * they return; if the caller gave the stream it is in the stream's order
 * instead, and nobody waits. */
TENON_API tenon_status tenon_write_from_device(tenon_program *program,
                                               size_t tensor, const void *from,
                                               size_t bytes);
TENON_API tenon_status tenon_read_to_device(const tenon_program *program,
                                            size_t tensor, void *to,
                                            size_t bytes);
/* Which GPU the program runs on, counted from 0, and the stream of its work.
 * TENON_ERROR_ARGUMENT for a program that runs on a processor. */
TENON_API tenon_status tenon_cuda_device(const tenon_program *program,
                                         uint32_t *gpu, void **stream);

/* Sets all state to zero. What is loaded or written afterwards replaces it.
 * State that the program keeps for itself gets its initial value. */
TENON_API tenon_status tenon_initialize_zeros(tenon_program *program);

/* Runs `steps` steps in a row with the same batch. TENON_ERROR_VALUE, and
 * nothing runs, if an argument has no value. TENON_ERROR_RUN if a library call
 * fails: the message names the call, what the library said and the step,
 * counted from 1 since the program was loaded. No further step begins, and all
 * state loses its value, since the step may have written a part of it: load it
 * again before the next step. */
TENON_API tenon_status tenon_run(tenon_program *program, int64_t steps);
/* Runs an entry point that the file was compiled with beside the step, such as
 * "eval". It reads the state as it is and leaves it so, also if a library call
 * fails. TENON_ERROR_VALUE if the state that it reads or one of its inputs has
 * no value, TENON_ERROR_ARGUMENT if there is no such entry point. */
TENON_API tenon_status tenon_run_entry(tenon_program *program,
                                       const char *entry);

/* A tensor that the step stores in f16 and that nothing keeps below 65504, and
 * how many of its elements were infinite there, over all steps since the state
 * was initialized. Start with TENON_OVERFLOW_INIT. */
typedef struct tenon_overflow {
  uint32_t struct_size; /* sizeof(tenon_overflow) */
  const char *tensor;   /* the operation that makes it, and where it is written;
                           lives as long as the program */
  int64_t elements;
} tenon_overflow;

#define TENON_OVERFLOW_INIT                                                    \
  { sizeof(tenon_overflow), NULL, 0 }

/* How many such tensors there are: none but in programs that were compiled with
 * --precision=f16. */
TENON_API size_t tenon_overflow_count(const tenon_program *program);
/* By number, in the order of the step. */
TENON_API tenon_status tenon_get_overflow(const tenon_program *program,
                                          size_t number,
                                          tenon_overflow *overflow);

/* Reads all state from a safetensors file, under any of the tensors' names.
 * If any tensor is missing or has another type or shape nothing is changed and
 * the message lists all of them. */
TENON_API tenon_status tenon_load_state(tenon_program *program,
                                        const char *path);
/* Reads a whole batch from a file, in the same way. */
TENON_API tenon_status tenon_load_batch(tenon_program *program,
                                        const char *path);
/* Reads those arguments, state and batch, that the file holds. */
TENON_API tenon_status tenon_load_arguments(tenon_program *program,
                                            const char *path);
/* Saves all state under canonical names, and what the program keeps for itself
 * under names that begin with "__tenon__.". Whoever opens `path` sees the old
 * file or the whole new one, also after a kill or with a full disk.
 * TENON_ERROR_VALUE if any state has no value. */
TENON_API tenon_status tenon_save_state(const tenon_program *program,
                                        const char *path);
/* Saves the results that are no state, named `result<i>`, in the same way. */
TENON_API tenon_status tenon_save_results(const tenon_program *program,
                                          const char *path);

/* Settings: scalar arguments with the role "hyper_parameter", such as a
 * learning rate. TENON_ERROR_ARGUMENT if a step has none of that name or cannot
 * take the value; the message lists those it has. */

/* Gives a setting a value, written as a number, and ends its schedule. */
TENON_API tenon_status tenon_set(tenon_program *program, const char *name,
                                 const char *value);
/* Gives a setting a schedule as `tenon run --schedule` takes it, such as
 * "cosine:steps=1000", which begins at the present value. */
TENON_API tenon_status tenon_schedule(tenon_program *program, const char *name,
                                      const char *schedule);
/* Gives settings the values that their schedules have in step `step`, counted
 * from 0. Call it before each step. */
TENON_API tenon_status tenon_apply_schedules(tenon_program *program,
                                             int64_t step);

/* A folder of checkpoints, as `tenon run --checkpoints` writes them: each holds
 * the state, the settings with their schedules, and the position of the run,
 * and is there as a whole or not at all. Used by one thread at a time. */
typedef struct tenon_checkpoints tenon_checkpoints;

/* How far a run is. Start with TENON_POSITION_INIT. */
typedef struct tenon_position {
  uint32_t struct_size; /* sizeof(tenon_position) */
  int64_t step;         /* complete steps */
  int64_t batches;      /* batches taken */
  const char *data;     /* the caller's own text, null for none */
} tenon_position;

#define TENON_POSITION_INIT                                                    \
  { sizeof(tenon_position), 0, 0, NULL }

/* Opens a folder, and makes it if it is missing. TENON_ERROR_FILE if it cannot
 * be written to or another run uses it. */
TENON_API tenon_status tenon_open_checkpoints(const char *folder,
                                              tenon_checkpoints **checkpoints);
/* Null is fine. */
TENON_API void tenon_close_checkpoints(tenon_checkpoints *checkpoints);
/* The step of the newest checkpoint, -1 if there is none. */
TENON_API tenon_status
tenon_newest_checkpoint(const tenon_checkpoints *checkpoints, int64_t *step);
/* Saves; when it returns TENON_OK the checkpoint is durable. Then removes all
 * but the `keep` newest ones, 0 for none. */
TENON_API tenon_status tenon_save_checkpoint(tenon_checkpoints *checkpoints,
                                             const tenon_program *program,
                                             const tenon_position *position,
                                             size_t keep);
/* Loads the newest checkpoint that is whole, and says its position; `data`
 * lives until the next call with the checkpoints. TENON_ERROR_FILE if none is
 * whole, TENON_ERROR_ARGUMENT if it is of a step with other arguments. */
TENON_API tenon_status tenon_load_checkpoint(tenon_checkpoints *checkpoints,
                                             tenon_program *program,
                                             tenon_position *position);
/* What the last load found damaged, or why bits differ from here on: lines of
 * text, empty for nothing. */
TENON_API const char *
tenon_checkpoint_notes(const tenon_checkpoints *checkpoints);

#ifdef __cplusplus
}
#endif

#endif /* TENON_RUNTIME_H */
