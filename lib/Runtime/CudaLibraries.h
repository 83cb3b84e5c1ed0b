//===- CudaLibraries.h - Calls of cuBLASLt, tried before they are used ----===//
//
// Private to this folder. Makes the library calls of a file ready: opens
// cuBLASLt when the first one is met, and has each algorithm that it offers
// multiply matrices of ones, because there are versions that forget terms at
// the end of a long sum. The first algorithm that is right is the one that
// runs, or the fastest of those that are. All of this happens before a step is
// captured, so that the library has loaded its code by then.
//
// What it offers may differ from run to run, and with it the bits of a product.
// So the choice is remembered in a folder, by the version of the library, the
// GPU's model, the driver's version of CUDA, and all that the library is asked.
// An algorithm that is found there multiplies ones, too.
//
// Of several ranks the first chooses for all: what two of them compute of the
// same values has to have the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUDALIBRARIES_H
#define TENON_LIB_RUNTIME_CUDALIBRARIES_H

#include "CudaDevice.h"

#include "tenon/Format/CacheFolder.h"

namespace tenon::runtime {

class CudaLibraries {
public:
  /// `ranks` are null for one that runs alone.
  CudaLibraries(std::shared_ptr<CudaContext> context,
                const ExecutorOptions &options, Communicator *ranks,
                int64_t count);

  /// Fills in the call of a callee; false with `error` filled in if it does not
  /// run here.
  bool make(const format::Callee &callee, CudaCallees::Call &call,
            Error &error);

  /// For the calls that were made ready.
  const AlgorithmChoices &choices() const { return found; }

private:
  bool open(Error &error);
  /// Chooses an algorithm that multiplies right.
  bool choose(libraries::GpuProduct &product, Error &error);
  /// Tells all ranks what the first has chosen. False with `error` filled in if
  /// this one cannot run it.
  bool agree(libraries::GpuProduct &product, Error &error);
  /// All that an algorithm depends on, as a text.
  std::string questionOf(const libraries::GpuProduct &product) const;

  std::shared_ptr<CudaContext> context;
  Communicator *ranks;
  int64_t count;
  std::string file; // the library's, empty for the installed one
  format::CacheFolder remembered;
  bool tune;
  AlgorithmChoices found;
  std::shared_ptr<libraries::CublasLt> cublasLt;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUDALIBRARIES_H
