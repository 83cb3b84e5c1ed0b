//===- EmittedKernel.h - Kernels from text to running code, for tests -----===//
//
// Takes a function on tensors through the emitter, LLVM and the loader, and
// runs it on arrays; plus arrays that are aligned as the runtime aligns them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_CODEGEN_EMITTEDKERNEL_H
#define TENON_TEST_UNIT_CODEGEN_EMITTEDKERNEL_H

#include "LoadedKernels.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

template <typename T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <typename U>
  Aligned(const Aligned<U> &) {}
  T *allocate(size_t n) {
    return static_cast<T *>(
        ::operator new(n * sizeof(T) + 64, std::align_val_t(64)));
  }
  void deallocate(T *p, size_t) { ::operator delete(p, std::align_val_t(64)); }
  bool operator==(const Aligned &) const { return true; }
};
template <typename T>
using Array = std::vector<T, Aligned<T>>;

/// Numbers between low and high that look random and are the same every time.
Array<float> someNumbers(size_t count, float low = -2, float high = 2,
                         uint32_t seed = 1);

class EmittedKernel {
public:
  /// `text` is the function `@kernel` (private, on tensors). Fails the running
  /// test if it has no code.
  explicit EmittedKernel(llvm::StringRef text,
                         tenon::codegen::FeatureSet features = {
                             *tenon::target::hostIsa()});
  ~EmittedKernel();

  /// Runs all parts, one after the other. Scratch memory is added.
  void run(std::vector<void *> arguments, int64_t parts = 1);

  bool ok() const { return function != nullptr; }
  /// The emitted loops.
  std::string loops;
  int64_t scratchBytes = 0;
  int64_t maxParts = 0;
  bool isFallback = false;

private:
  std::unique_ptr<LoadedKernels> loaded;
  Kernel *function = nullptr;
};

/// What is reported when `text` is emitted; empty if there is code for it.
std::string complaintAbout(llvm::StringRef text);

#endif // TENON_TEST_UNIT_CODEGEN_EMITTEDKERNEL_H
