// See FailingCalls.h.

#define _GNU_SOURCE
#include "FailingCalls.h"

#include <dlfcn.h>
#include <dnnl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long before_failure = -1; // calls until the one that fails
static atomic_long before_kill = -1;    // calls until the process is killed
static atomic_int is_held, held;

void failing_calls_fail(long number) { atomic_store(&before_failure, number); }
void failing_calls_hold(int hold) { atomic_store(&is_held, hold); }
int failing_calls_held(void) { return atomic_load(&held); }

__attribute__((constructor)) static void read_environment(void) {
  const char *number = getenv("TENON_FAIL_CALL");
  if (number)
    failing_calls_fail(atol(number));
  const char *kill_number = getenv("TENON_KILL_CALL");
  if (kill_number)
    atomic_store(&before_kill, atol(kill_number));
}

dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive,
                                     dnnl_stream_t stream, int count,
                                     const dnnl_exec_arg_t *arguments) {
  typedef dnnl_status_t (*Execute)(const_dnnl_primitive_t, dnnl_stream_t, int,
                                   const dnnl_exec_arg_t *);
  static _Atomic(Execute) library;
  if (!atomic_load(&library))
    atomic_store(&library, (Execute)dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  atomic_fetch_add(&held, 1);
  while (atomic_load(&is_held))
    sched_yield();
  atomic_fetch_sub(&held, 1);
  if (atomic_load(&before_kill) >= 0 &&
      atomic_fetch_sub(&before_kill, 1) == 0) {
    dprintf(STDERR_FILENO, "killed at step\n");
    raise(SIGKILL);
  }
  // Below zero nothing is counted, so that it does not come around.
  if (atomic_load(&before_failure) >= 0 &&
      atomic_fetch_sub(&before_failure, 1) == 0)
    return dnnl_out_of_memory;
  return atomic_load(&library)(primitive, stream, count, arguments);
}
