//===- DeviceOptions.h - What a program runs on ---------------------------===//
//
// The options of the verbs that run programs. A file says itself whether it is
// for a processor or for GPUs; a run may insist on one, and choose among GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_DEVICEOPTIONS_H
#define TENON_TOOLS_TENON_DEVICEOPTIONS_H

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Runtime/Executor.h"

#include <cstdlib>

namespace tenon::tool {

/// Fills `options` in from `cpu`, `cuda` or `cuda:N`; a message otherwise.
inline std::string takeDevice(std::string_view given,
                              runtime::ExecutorOptions &options) {
  const size_t colon = given.find(':');
  options.deviceClass = given.substr(0, colon);
  if (given == "cpu" || given == "cuda")
    return "";
  auto number =
      colon == given.npos ? std::nullopt : parseNumber(given.substr(colon + 1));
  if (options.deviceClass != "cuda" || !number || *number < 0 || *number > 1023)
    return "expected cpu, cuda, or cuda:N with N from 0 on";
  options.gpu = unsigned(*number);
  return "";
}

/// --ranks, --device, --cuda-driver, --cublaslt, --nccl, --algorithm-cache and
/// --tune; without the four in the middle what TENON_CUDA_DRIVER,
/// TENON_CUBLASLT, TENON_NCCL and TENON_ALGORITHM_CACHE say.
inline void takeDeviceOptions(ArgumentParser &parser,
                              runtime::ExecutorOptions &options) {
  if (const char *driver = std::getenv("TENON_CUDA_DRIVER"))
    options.cudaDriver = driver;
  if (const char *library = std::getenv("TENON_CUBLASLT"))
    options.cublasLt = library;
  if (const char *library = std::getenv("TENON_NCCL"))
    options.nccl = library;
  if (const char *folder = std::getenv("TENON_ALGORITHM_CACHE"))
    options.algorithmCache = folder;
  parser.custom("ranks", "N",
                "how many ranks run the step, which was compiled with --mesh "
                "for as many (1)",
                [&options](std::string_view given) -> std::string {
                  options.ranks = parseNumber(given).value_or(0);
                  return options.ranks < 1 ? "expected a number from 1 on" : "";
                });
  parser.custom(
      "device", "KIND",
      "cpu, cuda or cuda:N (default: what the file is for; each rank "
      "has its own GPU)",
      [&options](std::string_view given) { return takeDevice(given, options); },
      {"cpu", "cuda"});
  parser.text("cuda-driver", options.cudaDriver, "FILE",
              "for a file for GPUs: the driver (libcuda.so.1, or what "
              "TENON_CUDA_DRIVER names)");
  parser.text("cublaslt", options.cublasLt, "FILE",
              "for a file for GPUs: cuBLASLt (libcublasLt.so.13, or what "
              "TENON_CUBLASLT names)");
  parser.text("nccl", options.nccl, "FILE",
              "for a file for ranks on GPUs: NCCL (libnccl.so.2, or what "
              "TENON_NCCL names)");
  parser.text("algorithm-cache", options.algorithmCache, "FOLDER",
              "for GPUs: remembers cuBLASLt's algorithms, or none "
              "(~/.cache/tenon/cublaslt)");
  parser.flag("tune", options.tune,
              "for GPUs: take the fastest of cuBLASLt's algorithms, and "
              "remember it");
}

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_DEVICEOPTIONS_H
