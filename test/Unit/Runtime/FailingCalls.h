//===- FailingCalls.h - Library calls that fail when they are told to -----===//
//
// FailingCalls.c stands before oneDNN's dnnl_primitive_execute: linked to a
// test program, or preloaded into any other, where TENON_FAIL_CALL=N makes call
// N of the process fail (0 is the first) and TENON_KILL_CALL=N kills the
// process there.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_RUNTIME_FAILINGCALLS_H
#define TENON_TEST_UNIT_RUNTIME_FAILINGCALLS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Call `number` from now on, 0 being the next, does nothing and returns "out of
 * memory"; -1 for none. */
void failing_calls_fail(long number);

/* While set, calls wait before they begin. */
void failing_calls_hold(int hold);
/* How many are waiting. */
int failing_calls_held(void);

#ifdef __cplusplus
}
#endif

#endif
