//===- CpuDevice.h - The processor as a device ----------------------------===//
//
// Private to this folder. Its one memory space is the process's own, its one
// queue what a team of threads walks (Program.h), and its callees are compiled
// kernels, library calls, collectives and copies.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CPUDEVICE_H
#define TENON_LIB_RUNTIME_CPUDEVICE_H

#include "Communicator.h"
#include "Device.h"
#include "KernelLibrary.h"

#include "tenon/Libraries/Call.h"
#include "tenon/Libraries/Collective.h"

namespace tenon::runtime {

/// What instructions may invoke, ready to run; one entry each per callee, null
/// for those of another kind.
struct CpuCallees {
  std::vector<format::Callee> described;
  std::vector<KernelFunction> kernels;
  std::vector<std::unique_ptr<libraries::Call>> calls;
  std::vector<std::optional<libraries::CollectiveDescription>> collectives;
  Communicator *communicator = nullptr; // of a step for several ranks
};

class CpuDevice final : public Device {
public:
  /// Null, with `error` filled in, if this processor lacks a feature that the
  /// file's kernels need, or the memory spaces are not a CPU's. As newDevice().
  static std::unique_ptr<Device> create(const format::Index &index,
                                        const ExecutorOptions &options,
                                        Communicator *communicator,
                                        Error &error);

  std::unique_ptr<DeviceMemory> allocate(const format::MemorySpace &space,
                                         const format::Segment &segment,
                                         bool prefault,
                                         std::string &error) override;
  bool copyIn(void *to, const void *from, uint64_t bytes, Error &) override;
  bool copyOut(void *to, const void *from, uint64_t bytes, Error &) override;
  AvailableMemory availableMemory() const override;
  bool loadCallees(const format::Reader &reader, Error &error) override;
  std::unique_ptr<Capture> beginCapture() override;

private:
  CpuDevice(unsigned threads, Subnormals subnormals, Communicator *communicator)
      : threads(threads), subnormals(subnormals) {
    callees.communicator = communicator;
  }

  unsigned threads; // of a team, at most
  Subnormals subnormals;
  KernelLibrary kernels;
  CpuCallees callees;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CPUDEVICE_H
