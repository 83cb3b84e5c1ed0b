//===- CudaLibraries.h - Calls of cuBLASLt, tried before they are used ----===//
//
// Private to this folder. Makes the library calls of a file ready: opens
// cuBLASLt when the first one is met, and has each algorithm that it offers
// multiply matrices of ones, because there are versions that forget terms at
// the end of a long sum. The first algorithm that is right is the one that
// runs. All of this happens before a step is captured, so that the library has
// loaded its code by then.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUDALIBRARIES_H
#define TENON_LIB_RUNTIME_CUDALIBRARIES_H

#include "CudaDevice.h"

namespace tenon::runtime {

class CudaLibraries {
public:
  /// `file` is the library's, empty for the installed one.
  CudaLibraries(std::shared_ptr<CudaContext> context, std::string file)
      : context(std::move(context)), file(std::move(file)) {}

  /// Fills in the call of a callee; false with `error` filled in if it does not
  /// run here.
  bool make(const format::Callee &callee, CudaCallees::Call &call,
            Error &error);

private:
  bool open(Error &error);
  /// Chooses an algorithm that multiplies right.
  bool choose(libraries::GpuProduct &product, Error &error);

  std::shared_ptr<CudaContext> context;
  std::string file;
  std::shared_ptr<libraries::CublasLt> cublasLt;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUDALIBRARIES_H
