//===- CudaDevice.h - One of NVIDIA's GPUs as a device --------------------===//
//
// Private to this folder. Its memory spaces are `device`, the GPU's own memory,
// and `pinned`, memory of the host that the GPU copies to and from;
// its queues a CUDA graph (CudaStep.h) that is launched once a step; its
// callees are kernels in PTX, which the driver compiles when a file is loaded,
// calls of cuBLASLt (CudaLibraries.h), library calls that the host runs
// (CudaHostCalls.h), collectives of ranks that are processes
// (CudaCollectives.h), and copies.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUDADEVICE_H
#define TENON_LIB_RUNTIME_CUDADEVICE_H

#include "CudaCollectives.h"
#include "CudaDriverTable.h"
#include "CudaHostCalls.h"
#include "Device.h"

#include "tenon/Libraries/Call.h"
#include "tenon/Libraries/GpuCalls.h"

namespace tenon::runtime {

/// The GPU at work: its driver, its context and the queue of all work. Freed
/// with the last of those who use it.
class CudaContext {
public:
  /// Null with `error` filled in if there is no such driver or GPU, or it
  /// cannot be used.
  static std::shared_ptr<CudaContext> open(const ExecutorOptions &options,
                                           Error &error);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  CudaDriverTable driver;
  CUdevice device = 0;
  CUstream stream = nullptr;  // of all work
  CUstream own = nullptr;     // to capture into; also that if nobody gave one
  std::string name;           // "GPU 0, NVIDIA H100"
  std::string model;          // "NVIDIA H100"
  std::string emulatedDriver; // its file; empty for NVIDIA's own
  int multiprocessors = 0;
  unsigned capability = 0; // ten times: 90 is 9.0
  unsigned cuda = 0;       // the version that the driver has: 12080 is 12.8

  /// Makes the GPU the one that calls of this thread are for.
  CUresult enter() const { return driver.cuCtxSetCurrent(context); }
  CUcontext handle() const { return context; }
  /// Waits for all that was started, if starting the last of it worked.
  CUresult finish(CUresult started) const {
    return started == CUDA_SUCCESS ? driver.cuStreamSynchronize(stream)
                                   : started;
  }
  /// Whether the call worked; otherwise `error` says what the driver said.
  bool check(CUresult result, const std::string &what, Failure kind,
             Error &error) const;

private:
  CudaContext() = default;
  CUcontext context = nullptr;
};

/// What instructions may invoke; one entry each per callee.
struct CudaCallees {
  using Collective = std::optional<libraries::CollectiveDescription>;
  struct Kernel {
    CUfunction function = nullptr; // null for a copy or a call
    format::Launch launch;
  };
  /// Nothing for a callee that is no library call.
  struct Call {
    std::unique_ptr<libraries::Call> planned;
    std::unique_ptr<libraries::GpuCall> ready;
    CudaHostCall *onHost = nullptr; // in place of the two
    /// What the file has to pass; null for no library call.
    const libraries::Call *what() const {
      return onHost ? &onHost->call() : planned.get();
    }
  };
  std::vector<format::Callee> described;
  std::vector<Kernel> kernels;
  std::vector<Call> calls;
  std::vector<Collective> collectives;
  std::vector<bool> segmentsOnHost; // per segment
  bool isOnHost(const format::Slice &slice) const {
    return slice.segment < segmentsOnHost.size() &&
           segmentsOnHost[slice.segment];
  }
  std::unique_ptr<CudaCollectives> exchange; // null for one rank
  std::unique_ptr<CudaHostCalls> hostCalls;
};

class CudaDevice final : public Device {
public:
  /// Null, with `error` filled in, if there is no GPU, or none of the file's
  /// kernels are for it.
  static std::unique_ptr<Device> create(const format::Index &index,
                                        const ExecutorOptions &options,
                                        Communicator *communicator,
                                        Error &error);
  ~CudaDevice() override;

  std::unique_ptr<DeviceMemory> allocate(const format::MemorySpace &space,
                                         const format::Segment &segment,
                                         bool prefault,
                                         std::string &error) override;
  bool copyIn(void *to, const void *from, uint64_t bytes,
              Error &error) override;
  bool copyOut(void *to, const void *from, uint64_t bytes,
               Error &error) override;
  bool isItsOwn(const format::MemorySpace &space) const override;
  std::string whyNotMemory(const void *place, uint64_t bytes) const override;
  bool copyWithin(void *to, const void *from, uint64_t bytes,
                  Error &error) override;
  void *stream() const override { return context->stream; }
  uint64_t receivedBytes() const override {
    return callees.exchange ? callees.exchange->receivedBytes() : 0;
  }
  bool isOfOneRank() const override { return true; }
  AvailableMemory availableMemory() const override;
  bool loadCallees(const format::Reader &reader, Error &error) override;
  std::unique_ptr<Capture> beginCapture() override;
  std::string whyNotBinary() const override { return refusedBinary; }
  bool isEmulated() const override { return context->driver.isEmulated; }
  AlgorithmChoices algorithmChoices() const override { return choices; }
  bool runsAhead() const override { return true; }
  std::unique_ptr<StepPipeline> newPipeline(Error &error) override;

private:
  /// Of format::Index::gpuModules, what may run here: the one whose machine
  /// code may, and the one whose PTX may. One of them is there.
  struct Choice {
    std::optional<size_t> binary, text;
  };

  CudaDevice(std::shared_ptr<CudaContext> context, Choice choice,
             uint64_t largestSegment, const ExecutorOptions &options,
             Communicator *communicator)
      : context(std::move(context)), options(options), choice(choice),
        largestSegment(largestSegment), communicator(communicator) {}

  /// Nothing, with `error` filled in, if there is none.
  static std::optional<Choice> choose(const format::Index &index,
                                      const CudaContext &gpu, Error &error);
  /// Hands a section of code to the driver; false with `error` filled in if
  /// that does not take it.
  bool loadModule(const format::Reader &reader, uint32_t section,
                  format::SectionKind kind, const std::string &architecture,
                  Error &error);

  std::shared_ptr<CudaContext> context;
  ExecutorOptions options;
  Choice choice;
  uint64_t largestSegment;
  Communicator *communicator; // null for one rank
  AlgorithmChoices choices;
  std::string refusedBinary;
  CUmodule module = nullptr;
  CudaCallees callees;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUDADEVICE_H
