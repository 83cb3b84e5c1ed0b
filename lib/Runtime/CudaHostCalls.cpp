//===- CudaHostCalls.cpp - Library calls that the host of a GPU runs ------===//
//
// See CudaHostCalls.h.
//
//===----------------------------------------------------------------------===//

#include "CudaHostCalls.h"

#include "CudaDevice.h"
#include "LibraryCall.h"

#include "tenon/Libraries/HostCalls.h"
#include "tenon/Libraries/Library.h"
#include "tenon/Libraries/Stored.h"
#include "tenon/Support/FloatingPointMode.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::runtime;

void CudaHostCall::run(void *data) {
  auto &call = *static_cast<CudaHostCall *>(data);
  CudaHostCalls &all = *call.all;
  const FloatingPointMode mode(all.subnormals);
  for (int64_t phase = 0; phase < call.made->phases(); ++phase)
    for (int64_t task = 0; task < call.made->tasks(phase); ++task) {
      if (all.haveRefused())
        return;
      if (int status = call.bound->run(phase, task)) {
        all.status = status;
        all.refused = &call;
      }
    }
}

CudaHostCalls::~CudaHostCalls() {
  if (!pinned)
    return;
  context->enter();
  context->driver.cuMemFreeHost(pinned);
}

CudaHostCall *CudaHostCalls::add(const format::Callee &callee, size_t number,
                                 Error &error) {
  std::string why;
  auto description = libraries::restore(callee, why);
  if (description && libraries::libraryOf(*description).isOfGpus())
    why = callee.library + " runs on GPUs, not on their host";
  if (!why.empty()) {
    error = {Failure::file, "the file is damaged: " + why};
    return nullptr;
  }
  CudaHostCall call;
  call.all = this;
  call.callee = number;
  call.made = findCall(callee, *description, {}, error);
  if (!call.made)
    return nullptr;
  call.bound = call.made->newBinding(why);
  if (!call.bound) {
    error = {Failure::memory, "a library call cannot be made ready: " + why};
    return nullptr;
  }
  call.operandCount = size_t(call.made->operandCount());
  const int64_t count =
      call.made->argumentCount() - (call.made->workspaceBytes() > 0);
  for (int64_t i = 0; i < count; ++i)
    call.arguments.push_back({nullptr, size_t(call.made->argumentBytes(i))});
  return &calls.emplace_back(std::move(call));
}

bool CudaHostCalls::allocate(Error &error) {
  uint64_t most = 0;
  for (const CudaHostCall &call : calls) {
    std::vector<uint64_t> bytes;
    for (const CudaHostCall::Argument &argument : call.arguments)
      bytes.push_back(argument.bytes);
    most = std::max(most, libraries::pinnedBytes(
                              bytes, uint64_t(call.made->workspaceBytes())));
  }
  if (most == 0)
    return true;
  void *memory = nullptr;
  CUresult done = context->enter();
  if (done == CUDA_SUCCESS)
    done = context->driver.cuMemHostAlloc(&memory, most, /*flags=*/0);
  if (!context->check(done,
                      "the file's calls on the host need " +
                          std::to_string(most) + " bytes of pinned memory",
                      Failure::memory, error))
    return false;
  pinned = static_cast<std::byte *>(memory);
  for (CudaHostCall &call : calls) {
    std::byte *place = pinned;
    std::vector<void *> pointers;
    for (CudaHostCall::Argument &argument : call.arguments) {
      argument.staged = place;
      pointers.push_back(place);
      place += libraries::pinnedBytes(argument.bytes);
    }
    if (call.made->workspaceBytes() > 0)
      pointers.push_back(place);
    call.bound->bind(pointers);
  }
  return true;
}

std::optional<CudaHostCalls::Refused> CudaHostCalls::takeRefused() {
  const CudaHostCall *call = refused.exchange(nullptr);
  if (!call)
    return std::nullopt;
  return Refused{call->callee, call->made->statusText(status)};
}
