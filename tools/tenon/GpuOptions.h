//===- GpuOptions.h - Which GPU a file for GPUs runs on -------------------===//
//
// The options of the verbs that run programs. A file says itself whether it is
// for GPUs, so nothing but the choice among them is left.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_GPUOPTIONS_H
#define TENON_TOOLS_TENON_GPUOPTIONS_H

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Runtime/Executor.h"

#include <cstdlib>

namespace tenon::tool {

/// --gpu and --cuda-driver; without the latter what TENON_CUDA_DRIVER says.
inline void takeGpuOptions(ArgumentParser &parser,
                           runtime::ExecutorOptions &options) {
  if (const char *driver = std::getenv("TENON_CUDA_DRIVER"))
    options.cudaDriver = driver;
  parser.custom("gpu", "N", "for a file for GPUs: which one runs it (0)",
                [&options](std::string_view given) -> std::string {
                  auto number = parseNumber(given);
                  if (!number || *number < 0 || *number > 1023)
                    return "expected a number from 0 on";
                  options.gpu = unsigned(*number);
                  return "";
                });
  parser.text("cuda-driver", options.cudaDriver, "FILE",
              "for a file for GPUs: the driver (libcuda.so.1, or what "
              "TENON_CUDA_DRIVER names)");
}

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_GPUOPTIONS_H
