//===- LoadedKernels.h - Compiled kernels in this process, for tests ------===//
//
// Links object code, loads it and finds kernels in it, as the runtime does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_CODEGEN_LOADEDKERNELS_H
#define TENON_TEST_UNIT_CODEGEN_LOADEDKERNELS_H

#include "tenon/Codegen/CPU/CompileObjects.h"
#include "tenon/Codegen/CPU/FeatureSet.h"
#include <vector>

/// The feature sets this machine can execute.
std::vector<tenon::codegen::FeatureSet> runnableFeatureSets();

using Kernel = void(void *const *arguments, int64_t part, int64_t parts);

class LoadedKernels {
public:
  /// Fails the running test if `objects` cannot be linked or loaded.
  explicit LoadedKernels(llvm::ArrayRef<tenon::codegen::ObjectCode> objects);
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels &) = delete;

  /// Null if there is no such kernel.
  Kernel *find(const char *name) const;

private:
  int file = -1;
  void *handle = nullptr;
};

#endif // TENON_TEST_UNIT_CODEGEN_LOADEDKERNELS_H
