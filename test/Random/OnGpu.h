//===- OnGpu.h - Random programs on a GPU ---------------------------------===//
//
// What checks of code for a GPU ask of the compiler and the runtime: PTX of one
// architecture, and a driver that runs it, which is the emulated one of the
// build unless another is named.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_RANDOM_ONGPU_H
#define TENON_TEST_RANDOM_ONGPU_H

#include "Check.h"

#include "tenon/Driver/Compiler.h"
#include "tenon/Runtime/Executor.h"

namespace tenon::random {

/// Has code made for the GPU that `options` names; nothing without one.
void aimAtGpu(driver::CompileOptions &compile, const CheckOptions &options);

/// How compiled code runs, on a GPU or on threads of the processor. The first
/// call of a process says which GPU the emulated driver is.
runtime::ExecutorOptions runningOptions(const CheckOptions &options);

/// The emulated driver beside the program at this path, which is in the folder
/// `bin` of the build.
std::string emulatedDriver(const std::string &program);

} // namespace tenon::random

#endif // TENON_TEST_RANDOM_ONGPU_H
