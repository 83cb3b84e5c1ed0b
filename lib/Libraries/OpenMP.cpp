//===- OpenMP.cpp - libgomp, where it is ----------------------------------===//
//
// See OpenMP.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/OpenMP.h"

#include "SharedLibrary.h"

#include <optional>

using namespace tenon::libraries;

const OpenMP *tenon::libraries::openMP() {
  static const std::optional<OpenMP> functions = []() -> std::optional<OpenMP> {
    OpenMP found;
    SharedLibrary library("libgomp.so.1", "libgomp1");
    library.find("GOMP_parallel", found.parallel);
    library.find("omp_get_thread_num", found.threadNumber);
    library.find("omp_get_num_threads", found.threadCount);
    library.find("omp_get_max_threads", found.mostThreads);
    library.find("omp_set_num_threads", found.setThreads);
    return library.whyNot().empty() ? std::optional(found) : std::nullopt;
  }();
  return functions ? &*functions : nullptr;
}
