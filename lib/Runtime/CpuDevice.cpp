//===- CpuDevice.cpp - The processor as a device --------------------------===//
//
// See CpuDevice.h.
//
//===----------------------------------------------------------------------===//

#include "CpuDevice.h"

#include "LibraryCall.h"
#include "ProgramBuilder.h"
#include "SegmentMemory.h"

#include "tenon/Format/Reader.h"
#include "tenon/Libraries/Library.h"
#include "tenon/Libraries/Reducer.h"
#include "tenon/Libraries/Stored.h"

#include <cstring>

using namespace tenon;
using namespace tenon::runtime;

std::unique_ptr<Device> CpuDevice::create(const format::Index &index,
                                          const ExecutorOptions &options,
                                          Communicator *communicator,
                                          Error &error) {
  for (const format::MemorySpace &space : index.memorySpaces)
    if (space.name != "host")
      return refuse(error, Failure::machine,
                    "the file keeps memory in space '" + space.name +
                        "', a CPU has only 'host'");
  const format::DeviceClass &cpu = index.deviceClasses[0];
  std::string missing;
  for (const std::string &feature : cpu.features)
    if (!target::hostHas(feature))
      missing += (missing.empty() ? "" : ", ") + feature;
  if (missing.empty())
    return std::unique_ptr<Device>(
        new CpuDevice(options.threads, index.subnormals, communicator));
  return refuse(error, Failure::machine,
                "the file is compiled for " + cpu.architecture +
                    ", this processor lacks " + missing +
                    "; compile the step again with a --cpu it has");
}

std::unique_ptr<DeviceMemory>
CpuDevice::allocate(const format::MemorySpace &, const format::Segment &segment,
                    bool prefault, std::string &error) {
  auto memory = std::make_unique<SegmentMemory>();
  if (!memory->allocate(segment.bytes, segment.alignment, error) ||
      (prefault && !memory->prefault(error)))
    return nullptr;
  return memory;
}

bool CpuDevice::copyIn(void *to, const void *from, uint64_t bytes, Error &) {
  // The caller's memory may be the tensor's own.
  if (bytes > 0)
    std::memmove(to, from, bytes);
  return true;
}

bool CpuDevice::copyOut(void *to, const void *from, uint64_t bytes,
                        Error &error) {
  return copyIn(to, from, bytes, error);
}

AvailableMemory CpuDevice::availableMemory() const {
  return runtime::availableMemory();
}

/// The call of a callee, or null with `error` filled in.
static std::unique_ptr<libraries::Call> makeCall(const format::Callee &callee,
                                                 Error &error) {
  std::string message;
  auto description = libraries::restore(callee, message);
  if (!description)
    return refuse(error, Failure::file, "the file is damaged: " + message);
  if (std::holds_alternative<libraries::GpuMatmulDescription>(*description))
    return refuse(error, Failure::file,
                  "the file is damaged: it calls " + callee.library +
                      " on a processor");
  auto isa = target::isaOfLibraries(callee.isa);
  auto host = target::hostIsa();
  if (!isa || !host || *isa > *host) {
    error = {
        Failure::machine,
        "the file's library calls are planned for instruction set " +
            callee.isa + ", this processor has " +
            (host ? std::string(target::describe(*host).ofLibraries) : "none") +
            "; compile the step again with a --cpu it has"};
    return nullptr;
  }
  auto call = findCall(callee, *description, *isa, error);
  if (!call)
    return nullptr;
  if (uint64_t(call->workspaceBytes()) > callee.workspaceBytes) {
    error = {
        Failure::machine,
        "a library call was planned with " +
            std::to_string(callee.workspaceBytes) + " bytes of workspace (" +
            callee.library + " " + callee.libraryVersion + "), here it needs " +
            std::to_string(call->workspaceBytes()) + " (" + callee.library +
            " " + libraries::libraryOf(*description).version() +
            "); compile the step again on this machine"};
    return nullptr;
  }
  return call;
}

bool CpuDevice::loadCallees(const format::Reader &reader, Error &error) {
  std::string message;
  if (!kernels.load(reader, message))
    return refuse(error, Failure::file, message);
  callees.described = reader.index().callees;
  callees.kernels = kernels.functions();
  for (const format::Callee &callee : callees.described) {
    auto &call = callees.calls.emplace_back();
    auto &collective = callees.collectives.emplace_back();
    if (callee.kind == format::CalleeKind::collective) {
      collective =
          libraries::restoreCollective(callee, reader.index().ranks(), message);
      if (!collective)
        return refuse(error, Failure::file, "the file is damaged: " + message);
      auto reducer = libraries::reducerNamed(callee.library);
      if (!reducer || *reducer == libraries::Reducer::nccl ||
          !libraries::whyInvalid(*collective, *reducer).empty())
        return refuse(error, Failure::file,
                      "the file is damaged: ranks on processors do not carry "
                      "out the collective " +
                          callee.description);
      if (*reducer == libraries::Reducer::mpi && callees.communicator &&
          !callees.communicator->prepareReduction(*collective))
        return refuse(error, Failure::run, callees.communicator->whyEnded());
    }
    if (callee.kind != format::CalleeKind::library)
      continue;
    call = makeCall(callee, error);
    if (!call)
      return false;
  }
  return true;
}

std::unique_ptr<Capture> CpuDevice::beginCapture() {
  return std::make_unique<ProgramBuilder>(callees, threads, subnormals);
}
