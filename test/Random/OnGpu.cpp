//===- OnGpu.cpp - Random programs on a GPU -------------------------------===//

#include "OnGpu.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace tenon;
using namespace tenon::random;

void random::aimAtGpu(driver::CompileOptions &compile,
                      const CheckOptions &options) {
  if (options.architecture.empty())
    return;
  compile.target = driver::OutputTarget::cuda;
  compile.architectures = options.architecture;
  compile.noCubins = true; // the emulated driver takes PTX
}

runtime::ExecutorOptions random::runningOptions(const CheckOptions &options) {
  runtime::ExecutorOptions running;
  running.threads = options.threads;
  if (options.architecture.empty())
    return running;
  running.cudaDriver = options.cudaDriver;
  llvm::StringRef number = options.architecture;
  number.consume_front("sm_");
  setenv("TENON_EMULATED_CUDA_SM", number.str().c_str(), /*overwrite=*/0);
  return running;
}

std::string random::emulatedDriver(const std::string &program) {
  llvm::SmallString<128> path(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(program)));
  llvm::sys::path::append(path, "lib", "libtenon-emulated-cuda.so");
  return path.str().str();
}
