//===- CudaPipeline.cpp - Steps of a GPU, one behind the other ------------===//
//
// See CudaPipeline.h.
//
//===----------------------------------------------------------------------===//

#include "CudaPipeline.h"

#include "CudaStep.h"

#include <algorithm>
#include <cstring>

using namespace tenon;
using namespace tenon::runtime;

/// A copy of so few bytes takes less time than the events that would let it run
/// beside a step.
static constexpr uint64_t fewBytes = 4096;

static constexpr unsigned withoutTime = 2; // CU_EVENT_DISABLE_TIMING

std::unique_ptr<CudaPipeline>
CudaPipeline::create(std::shared_ptr<CudaContext> context,
                     const CudaCallees &callees, Error &error) {
  std::unique_ptr<CudaPipeline> pipeline(
      new CudaPipeline(std::move(context), callees));
  const CudaContext &gpu = *pipeline->context;
  CUresult made = gpu.enter();
  if (made == CUDA_SUCCESS)
    made = gpu.driver.cuStreamCreate(&pipeline->copies, /*nonblocking=*/1);
  for (CUevent &end : pipeline->ends)
    if (made == CUDA_SUCCESS)
      made = gpu.driver.cuEventCreate(&end, withoutTime);
  return gpu.check(made, "steps cannot run ahead", Failure::machine, error)
             ? std::move(pipeline)
             : nullptr;
}

CudaPipeline::~CudaPipeline() {
  const CudaDriverTable &driver = context->driver;
  context->enter();
  // Nothing may be under way in what is freed. An error was told before.
  if (copies)
    driver.cuStreamSynchronize(copies);
  driver.cuStreamSynchronize(context->stream);
  for (Input &input : inputs) {
    release(input);
    if (input.beside)
      driver.cuMemFree_v2(input.beside);
    for (CUevent event : {input.copied, input.taken})
      if (event)
        driver.cuEventDestroy_v2(event);
  }
  for (Place &output : outputs)
    release(output);
  for (CUevent end : ends)
    if (end)
      driver.cuEventDestroy_v2(end);
  if (copies)
    driver.cuStreamDestroy_v2(copies);
}

CUresult CudaPipeline::allocate(Place &place) {
  CUresult done = CUDA_SUCCESS;
  for (std::byte *&memory : place.pinned)
    if (void *found = nullptr; done == CUDA_SUCCESS) {
      done = context->driver.cuMemHostAlloc(&found, place.bytes, /*flags=*/0);
      memory = static_cast<std::byte *>(found);
    }
  return done;
}

void CudaPipeline::release(Place &place) {
  for (std::byte *memory : place.pinned)
    if (memory)
      context->driver.cuMemFreeHost(memory);
}

CUresult CudaPipeline::makeInput(Input &input) {
  const CudaDriverTable &driver = context->driver;
  CUresult done = allocate(input);
  if (done != CUDA_SUCCESS || input.bytes <= fewBytes ||
      driver.cuMemAlloc_v2(&input.beside, input.bytes) != CUDA_SUCCESS)
    return done;
  for (CUevent *event : {&input.copied, &input.taken})
    if (done == CUDA_SUCCESS)
      done = driver.cuEventCreate(event, withoutTime);
  return done;
}

CUresult CudaPipeline::give(Input &input, std::span<const std::byte> value) {
  const CudaDriverTable &driver = context->driver;
  // Of several values for a step the last is copied last, whatever a copy of
  // one before it, which is under way, finds here.
  std::byte *pinned = input.pinned[size_t(started) % slots];
  std::memcpy(pinned, value.data(), value.size());
  input.isGiven = true;
  if (!input.beside)
    return CUDA_SUCCESS;
  // The step under way has taken what was there before, or will first.
  CUresult done = driver.cuStreamWaitEvent(copies, input.taken, 0);
  if (done == CUDA_SUCCESS)
    done =
        driver.cuMemcpyHtoDAsync_v2(input.beside, pinned, input.bytes, copies);
  return done == CUDA_SUCCESS ? driver.cuEventRecord(input.copied, copies)
                              : done;
}

bool CudaPipeline::give(void *to, std::span<const std::byte> value,
                        Error &error) {
  if (value.empty())
    return true;
  const auto address = reinterpret_cast<CUdeviceptr>(to);
  CUresult done = context->enter();
  auto known = std::ranges::find(inputs, address, &Input::address);
  if (known == inputs.end()) {
    Input &input = inputs.emplace_back();
    input.address = address;
    input.bytes = value.size();
    if (done == CUDA_SUCCESS)
      done = makeInput(input);
    known = std::prev(inputs.end());
  }
  if (done == CUDA_SUCCESS)
    done = give(*known, value);
  return context->check(
      done, "the next step cannot be given what it takes",
      done == CUDA_ERROR_OUT_OF_MEMORY ? Failure::memory : Failure::run, error);
}

bool CudaPipeline::watch(const void *place, uint64_t bytes, Error &error) {
  const auto address = reinterpret_cast<CUdeviceptr>(place);
  if (bytes == 0 ||
      std::ranges::find(outputs, address, &Place::address) != outputs.end())
    return true;
  Place &output = outputs.emplace_back();
  output.address = address;
  output.bytes = bytes;
  CUresult done = context->enter();
  if (done == CUDA_SUCCESS)
    done = allocate(output);
  return context->check(done, "results cannot be read while steps run",
                        Failure::memory, error);
}

CUresult CudaPipeline::take(Input &input) {
  const CudaDriverTable &driver = context->driver;
  input.isGiven = false;
  if (!input.beside)
    return driver.cuMemcpyHtoDAsync_v2(input.address,
                                       input.pinned[size_t(started) % slots],
                                       input.bytes, context->stream);
  CUresult done = driver.cuStreamWaitEvent(context->stream, input.copied, 0);
  if (done == CUDA_SUCCESS)
    done = driver.cuMemcpyDtoDAsync_v2(input.address, input.beside, input.bytes,
                                       context->stream);
  return done == CUDA_SUCCESS
             ? driver.cuEventRecord(input.taken, context->stream)
             : done;
}

CUresult CudaPipeline::keep(const Place &output) {
  return context->driver.cuMemcpyDtoHAsync_v2(
      output.pinned[size_t(started) % slots], output.address, output.bytes,
      context->stream);
}

/// Whatever else is under way has failed as well.
bool CudaPipeline::fail(CUresult result, RunOutcome &outcome) const {
  outcome.whatFailed =
      context->name + " reports: " + context->driver.textOf(result);
  return false;
}

/// The step behind may have begun when the process looks.
void CudaPipeline::Mark::make(void *data) {
  auto &mark = *static_cast<Mark *>(data);
  mark.haveRefused = mark.calls->haveRefused();
}

bool CudaPipeline::start(CapturedStep &step, RunOutcome &outcome) {
  CUresult done = context->enter();
  for (Input &input : inputs)
    if (input.isGiven && done == CUDA_SUCCESS)
      done = take(input);
  if (done != CUDA_SUCCESS)
    return fail(done, outcome);
  latest = &static_cast<CudaStep &>(step);
  if (!latest->start(outcome))
    return false;
  if (!callees.hostCalls->isEmpty()) {
    Mark &mark = marks[size_t(started) % slots];
    mark = {.calls = callees.hostCalls.get()};
    done = context->driver.cuLaunchHostFunc(context->stream, Mark::make, &mark);
  }
  for (const Place &output : outputs)
    if (done == CUDA_SUCCESS)
      done = keep(output);
  if (done == CUDA_SUCCESS)
    done = context->driver.cuEventRecord(ends[size_t(started) % slots],
                                         context->stream);
  if (done != CUDA_SUCCESS)
    return fail(done, outcome);
  ++started;
  return true;
}

bool CudaPipeline::finish(RunOutcome &outcome) {
  CUresult done = context->enter();
  if (done == CUDA_SUCCESS)
    done = context->driver.cuEventSynchronize(ends[size_t(finished) % slots]);
  if (done != CUDA_SUCCESS) {
    finished = started;
    return fail(done, outcome);
  }
  if (marks[size_t(finished) % slots].haveRefused) {
    finished = started;
    done = context->driver.cuStreamSynchronize(context->stream);
    latest->tellFailure(done, outcome);
    return false;
  }
  ++finished;
  outcome.wholeSteps = 1;
  // What no step has taken is there for whatever comes, in front of it.
  for (Input &input : inputs)
    if (input.isGiven && underWay() == 0 && done == CUDA_SUCCESS)
      done = take(input);
  return done == CUDA_SUCCESS || fail(done, outcome);
}

const std::byte *CudaPipeline::found(const void *place) const {
  auto known = std::ranges::find(outputs, reinterpret_cast<CUdeviceptr>(place),
                                 &Place::address);
  return known == outputs.end() || finished == 0
             ? nullptr
             : known->pinned[size_t(finished - 1) % slots];
}
