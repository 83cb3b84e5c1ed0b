//===- CudaStep.cpp - An entry point as CUDA graphs -----------------------===//
//
// See CudaStep.h.
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"

#include "LibraryCall.h"
#include "ProfilerRanges.h"

#include <algorithm>
#include <array>
#include <utility>

using namespace tenon;
using namespace tenon::runtime;

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

bool CudaCapture::launch(const format::Instruction &invoke, Error &error) {
  const format::Callee &callee = callees.described[invoke.callee];
  if (!started.checkQueue(invoke.queue, callee.kind, error) ||
      !checkMemory(invoke, error) || !checkCall(invoke, error) ||
      !checkCollective(invoke, error))
    return false;
  const size_t first = step->places.size(), count = invoke.operands.size();
  const bool isJoined = toJoin > 0;
  if (isJoined) {
    --toJoin;
    step->nodes.back().slotCount += count;
  } else {
    CudaStep::Node node{
        .callee = invoke.callee, .firstSlot = first, .slotCount = count};
    if (callee.kind == format::CalleeKind::copy) {
      node.bytes = invoke.operands[0].bytes;
      node.isFromHost = callees.isOnHost(invoke.operands[0]);
      node.isToHost = callees.isOnHost(invoke.operands[1]);
    }
    if (invoke.joint >= 0) {
      node.callee = uint32_t(invoke.joint);
      toJoin = invoke.joined - 1;
    }
    for (;; node.callee = uint32_t(callees.described[node.callee].followedBy)) {
      openGraph().order.push_back(
          {CudaStep::Entry::run, invoke.queue, step->nodes.size()});
      step->nodes.push_back(node);
      size.add(callee.onHost ? target::nodesOfHostCall(int64_t(count)) : 1);
      if (callees.described[node.callee].followedBy < 0)
        break;
    }
  }
  step->places.insert(step->places.end(), invoke.operands.begin(),
                      invoke.operands.end());
  step->written.resize(step->places.size(), true);
  for (int64_t argument : callee.reads)
    if (argument >= 0 && size_t(argument) < count)
      step->written[first + size_t(argument)] = false;
  if (const libraries::Call *call = callees.calls[invoke.callee].what())
    for (int64_t i = 0; i < call->operandCount(); ++i)
      step->written[first + size_t(i)] = false;
  if (!started.check({first, count}, error))
    return false;
  if (invoke.queue != StartedWork::main)
    started.start(invoke.queue, {first, count}, invoke.callee);
  return true;
}

bool CudaCapture::checkMemory(const format::Instruction &invoke, Error &error) {
  auto damaged = [&](const std::string &why) {
    return refuse(error, Failure::file, "the file is damaged: " + why);
  };
  const auto isOnHost = [&](const format::Slice &slice) {
    return callees.isOnHost(slice);
  };
  if (callees.described[invoke.callee].kind != format::CalleeKind::copy)
    return std::ranges::none_of(invoke.operands, isOnHost) ||
           damaged("an instruction that is no copy is given memory of the "
                   "host");
  const bool fromHost = isOnHost(invoke.operands[0]),
             toHost = isOnHost(invoke.operands[1]);
  if (fromHost && toHost)
    return damaged("a copy is within memory of the host");
  if ((invoke.queue == StartedWork::toHost && !toHost) ||
      (invoke.queue == StartedWork::fromHost && !fromHost))
    return damaged("a copy in queue " + std::to_string(invoke.queue) +
                   " is not one " +
                   (invoke.queue == StartedWork::toHost ? "to" : "from") +
                   " memory of the host");
  return true;
}

/// Whether a library call is passed what it works on.
bool CudaCapture::checkCall(const format::Instruction &invoke, Error &error) {
  const libraries::Call *call = callees.calls[invoke.callee].what();
  if (!call)
    return true;
  auto damaged = [&](const std::string &why) {
    return refuse(error, Failure::file, "the file is damaged: " + why);
  };
  const bool hasWorkspace = callees.described[invoke.callee].takesWorkspace();
  const int64_t arguments =
      call->argumentCount() - (call->workspaceBytes() > 0);
  if (int64_t(invoke.operands.size()) != arguments + hasWorkspace)
    return damaged(
        "a library call has " + std::to_string(invoke.operands.size()) +
        " arguments, expected " + std::to_string(arguments + hasWorkspace));
  for (size_t i = 0; i < invoke.operands.size(); ++i) {
    const format::Slice &slice = invoke.operands[i];
    const uint64_t expected =
        int64_t(i) < arguments
            ? uint64_t(call->argumentBytes(int64_t(i)))
            : callees.described[invoke.callee].workspaceBytes;
    if (slice.bytes < expected)
      return damaged("argument " + std::to_string(i) +
                     " of a library call has " + std::to_string(slice.bytes) +
                     " bytes, it works on " + std::to_string(expected));
    // What cuBLASLt is told when it offers algorithms.
    if (slice.offset % 64)
      return damaged("argument " + std::to_string(i) +
                     " of a library call is at byte " +
                     std::to_string(slice.offset) +
                     " of its segment, expected a multiple of 64");
  }
  return true;
}

bool CudaCapture::checkCollective(const format::Instruction &invoke,
                                  Error &error) {
  const CudaCallees::Collective &made = callees.collectives[invoke.callee];
  if (!made)
    return true;
  const auto reducer =
      libraries::reducerNamed(callees.described[invoke.callee].library);
  const std::vector<int64_t> expected = libraries::argumentBytes(
      *made, reducer.value_or(libraries::Reducer::ranks));
  bool fits = invoke.operands.size() == expected.size();
  for (size_t i = 0; fits && i < expected.size(); ++i) {
    fits = invoke.operands[i].bytes >= uint64_t(expected[i]);
    for (size_t j = 0; j < i; ++j)
      fits &= !overlap(invoke.operands[i], invoke.operands[j]);
  }
  return fits || refuse(error, Failure::file,
                        "the file is damaged: the arguments of a collective, " +
                            libraries::describe(*made) +
                            ", are not those that it works on");
}

CudaStep::Part &CudaCapture::openGraph() {
  if (into->empty() || into->back().kind != CudaStep::Part::graph)
    into->emplace_back();
  return into->back();
}

std::optional<Event> CudaCapture::record(uint32_t queue, uint32_t pending,
                                         Error &error) {
  return started.checkQueue(queue, error) ? std::optional(Event{queue, pending})
                                          : std::nullopt;
}

/// What is in queue 0 follows each other anyway.
void CudaCapture::wait(Event event) {
  if (event.queue == StartedWork::main)
    return;
  started.await(event.queue, event.pending);
  // What was started before the graph is done when that begins.
  if (!into->empty() && into->back().kind == CudaStep::Part::graph)
    into->back().order.push_back(
        {CudaStep::Entry::await, event.queue, event.pending});
}

std::optional<CudaStep::Sequence> CudaCapture::captured(const Body &body,
                                                        Error &error) {
  CudaStep::Sequence inside;
  CudaStep::Sequence *outside = std::exchange(into, &inside);
  bool ok = started.captureBlock(body, error);
  into = outside;
  return ok ? std::optional(std::move(inside)) : std::nullopt;
}

bool CudaCapture::readsIn(CudaStep::Part &part, const format::Slice &slice,
                          Error &error) {
  part.slot = step->places.size();
  step->places.push_back(slice);
  step->written.push_back(false);
  if (callees.isOnHost(slice))
    return refuse(error, Failure::file,
                  "the file is damaged: control flow reads memory of the host");
  return started.check({part.slot, 1}, error);
}

bool CudaCapture::loop(const format::Slice &predicate, int64_t trips,
                       const Body &condition, const Body &body, Error &error) {
  using Part = CudaStep::Part;
  Part loop{.kind = Part::loop, .trips = trips};
  loop.blocks.resize(2);
  if (trips < 0) {
    auto test = captured(condition, error);
    if (!test || !readsIn(loop, predicate, error))
      return false;
    loop.blocks[0] = std::move(*test);
  }
  auto round = captured(body, error);
  if (!round)
    return false;
  if (trips >= 0 && round->empty())
    return true;
  if (trips >= 0 && round->size() == 1 && round->front().kind == Part::graph) {
    const std::vector<CudaStep::Entry> &body = round->front().order;
    const int64_t waits = std::ranges::count(body, CudaStep::Entry::await,
                                             &CudaStep::Entry::kind);
    if (size.repeats(int64_t(body.size()) - waits, trips)) {
      std::vector<CudaStep::Entry> &order = openGraph().order;
      for (int64_t trip = 0; trip < trips; ++trip)
        order.insert(order.end(), body.begin(), body.end());
      return true;
    }
  }
  loop.blocks[1] = std::move(*round);
  into->push_back(std::move(loop));
  return true;
}

bool CudaCapture::branch(const format::Slice &selector,
                         std::span<const Body> branches, Error &error) {
  CudaStep::Part part{.kind = CudaStep::Part::branch};
  if (!readsIn(part, selector, error))
    return false;
  for (const Body &body : branches) {
    auto block = captured(body, error);
    if (!block)
      return false;
    part.blocks.push_back(std::move(*block));
  }
  into->push_back(std::move(part));
  return true;
}

std::unique_ptr<CapturedStep> CudaCapture::finish(Error &error) {
  if (!started.areDone(error))
    return nullptr;
  step->pointers.resize(step->places.size());
  return std::move(step);
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

CudaStep::~CudaStep() {
  context->enter();
  destroyGraphs(program);
  for (CUevent mark : marks)
    context->driver.cuEventDestroy_v2(mark);
}

void CudaStep::destroyGraphs(Sequence &parts) {
  for (Part &part : parts) {
    if (part.executable)
      context->driver.cuGraphExecDestroy(part.executable);
    if (part.made)
      context->driver.cuGraphDestroy(part.made);
    part.executable = nullptr;
    part.made = nullptr;
    for (Sequence &block : part.blocks)
      destroyGraphs(block);
  }
}

InstructionTime CudaStep::describe(size_t operation) const {
  const size_t number = nodes[operation].callee;
  if (const CudaHostCall *call = callees.calls[number].onHost)
    return describeCall(callees.described, number, call->call());
  const format::Callee &callee = callees.described[number];
  InstructionTime time;
  time.name = callee.name;
  time.what = callee.kind == format::CalleeKind::copy
                  ? std::to_string(nodes[operation].bytes) + " bytes"
                  : callee.description;
  time.fallback = callee.fallback;
  time.library = callee.kind == format::CalleeKind::library;
  return time;
}

std::vector<void *> CudaStep::parametersOf(const Node &node) {
  std::vector<void *> parameters;
  for (size_t i = 0; i < node.slotCount; ++i)
    parameters.push_back(&pointers[node.firstSlot + i]);
  return parameters;
}

CUresult CudaStep::enqueueCall(const Node &node, CUstream stream) {
  const std::span<const CUdeviceptr> arguments(pointers.data() + node.firstSlot,
                                               node.slotCount);
  if (const CudaCallees::Collective &collective =
          callees.collectives[node.callee]) {
    saidByLibrary = callees.exchange->enqueue(*collective, arguments, stream);
  } else {
    saidByLibrary =
        callees.calls[node.callee].ready->enqueue(arguments, stream);
    if (!saidByLibrary.empty())
      saidByLibrary = "cuBLASLt reports " + saidByLibrary;
  }
  return saidByLibrary.empty() ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

CUresult CudaStep::captureCall(const Node &node, CUgraph &graph) {
  const CudaDriverTable &driver = context->driver;
  CUresult result = driver.cuStreamBeginCapture_v2(
      context->own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (result != CUDA_SUCCESS)
    return result;
  result = enqueueCall(node, context->own);
  CUresult ended = driver.cuStreamEndCapture(context->own, &graph);
  return result == CUDA_SUCCESS ? ended : result;
}

CUresult CudaStep::addCopy(CUgraph into, const CUDA_MEMCPY3D &what,
                           Before &before) {
  CUgraphNode added = nullptr;
  CUresult result = context->driver.cuGraphAddMemcpyNode(
      &added, into, before.data(), before.size(), &what, context->handle());
  if (added)
    before = {added};
  return result;
}

CUresult CudaStep::addHostCall(CUgraph into, const Node &node, Before &before) {
  CudaHostCall &call = *callees.calls[node.callee].onHost;
  CUresult result = CUDA_SUCCESS;
  size_t slot = node.firstSlot;
  auto add = [&](std::span<const CudaHostCall::Argument> arguments,
                 CUmemorytype from, CUmemorytype to) {
    for (const CudaHostCall::Argument &argument : arguments) {
      CUDA_MEMCPY3D what{};
      what.srcMemoryType = from;
      what.dstMemoryType = to;
      what.srcHost = what.dstHost = argument.staged;
      what.srcDevice = what.dstDevice = pointers[slot++];
      what.WidthInBytes = argument.bytes;
      what.Height = what.Depth = 1;
      if (result == CUDA_SUCCESS && argument.bytes > 0)
        result = addCopy(into, what, before);
    }
  };
  add(call.operands(), CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST);
  const CUDA_HOST_NODE_PARAMS function{CudaHostCall::run, &call};
  CUgraphNode added = nullptr;
  if (result == CUDA_SUCCESS)
    result = context->driver.cuGraphAddHostNode(&added, into, before.data(),
                                                before.size(), &function);
  if (added)
    before = {added};
  add(call.results(), CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE);
  return result;
}

CUresult CudaStep::startHostCall(const Node &node) {
  const CudaDriverTable &driver = context->driver;
  CudaHostCall &call = *callees.calls[node.callee].onHost;
  CUresult result = CUDA_SUCCESS;
  size_t slot = node.firstSlot;
  for (const CudaHostCall::Argument &argument : call.operands())
    if (CUdeviceptr place = pointers[slot++];
        result == CUDA_SUCCESS && argument.bytes > 0)
      result = driver.cuMemcpyDtoHAsync_v2(argument.staged, place,
                                           argument.bytes, context->stream);
  if (result == CUDA_SUCCESS)
    result = driver.cuLaunchHostFunc(context->stream, CudaHostCall::run, &call);
  for (const CudaHostCall::Argument &argument : call.results())
    if (CUdeviceptr place = pointers[slot++];
        result == CUDA_SUCCESS && argument.bytes > 0)
      result = driver.cuMemcpyHtoDAsync_v2(place, argument.staged,
                                           argument.bytes, context->stream);
  return result;
}

CUresult CudaStep::addTo(CUgraph into, const Node &node, Before &before) {
  CUgraphNode added = nullptr;
  CUresult result = CUDA_SUCCESS;
  const CudaCallees::Kernel &kernel = callees.kernels[node.callee];
  if (callees.calls[node.callee].onHost)
    return addHostCall(into, node, before);
  if (kernel.function) {
    std::vector<void *> parameters = parametersOf(node);
    CUDA_KERNEL_NODE_PARAMS what{};
    what.func = kernel.function;
    what.gridDimX = kernel.launch.blocks;
    what.blockDimX = kernel.launch.threads;
    what.gridDimY = what.gridDimZ = what.blockDimY = what.blockDimZ = 1;
    what.kernelParams = parameters.data();
    result = context->driver.cuGraphAddKernelNode_v2(
        &added, into, before.data(), before.size(), &what);
  } else if (isCall(node)) {
    CUgraph call = nullptr;
    result = captureCall(node, call);
    if (result == CUDA_SUCCESS)
      result = context->driver.cuGraphAddChildGraphNode(
          &added, into, before.data(), before.size(), call);
    if (call)
      context->driver.cuGraphDestroy(call);
  } else if (node.bytes > 0) {
    CUDA_MEMCPY3D what{};
    what.srcMemoryType =
        node.isFromHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    what.dstMemoryType =
        node.isToHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    what.srcDevice = pointers[node.firstSlot];
    what.dstDevice = pointers[node.firstSlot + 1];
    what.srcHost = reinterpret_cast<const void *>(what.srcDevice);
    what.dstHost = reinterpret_cast<void *>(what.dstDevice);
    what.WidthInBytes = node.bytes;
    what.Height = what.Depth = 1;
    return addCopy(into, what, before);
  }
  if (added)
    before = {added};
  return result;
}

CUresult CudaStep::makeGraph(Part &part) {
  const CudaDriverTable &driver = context->driver;
  CUresult result = driver.cuGraphCreate(&part.made, 0);
  part.received = 0;
  Before main; // what comes next in queue 0
  // Of the other queues, each behind the one before in its own.
  std::array<std::vector<CUgraphNode>, StartedWork::queueCount> started;
  auto addOnce = [](Before &before, CUgraphNode node) {
    if (!std::ranges::count(before, node))
      before.push_back(node);
  };
  for (const Entry &entry : part.order) {
    if (result != CUDA_SUCCESS)
      break;
    std::vector<CUgraphNode> &underWay = started[entry.queue];
    if (entry.kind == Entry::await) {
      if (underWay.size() <= entry.value)
        continue;
      const auto end = underWay.end() - ptrdiff_t(entry.value);
      addOnce(main, end[-1]);
      underWay.erase(underWay.begin(), end);
      continue;
    }
    const Node &node = nodes[entry.value];
    const auto &collective = callees.collectives[node.callee];
    if (collective)
      part.received += callees.exchange->receivedIn(*collective);
    Before before = main;
    std::vector<CUgraphNode> &others =
        collective ? started[StartedWork::collectives] : underWay;
    if (!others.empty())
      addOnce(before, others.back());
    result = addTo(part.made, node, before);
    if (result != CUDA_SUCCESS)
      break;
    if (entry.queue != StartedWork::main) {
      if (!before.empty()) // a copy of no bytes is nothing
        underWay.push_back(before.front());
      continue;
    }
    main = std::move(before);
    if (collective) // which is behind all of them
      others.clear();
  }
  return result == CUDA_SUCCESS ? driver.cuGraphInstantiateWithFlags(
                                      &part.executable, part.made, 0)
                                : result;
}

CUresult CudaStep::makeReady(Sequence &parts) {
  CUresult result = CUDA_SUCCESS;
  for (Part &part : parts) {
    if (result == CUDA_SUCCESS && part.kind == Part::graph)
      result = makeGraph(part);
    for (Sequence &block : part.blocks)
      if (result == CUDA_SUCCESS)
        result = makeReady(block);
  }
  return result;
}

bool CudaStep::update(Error &error) {
  CUresult result = context->enter();
  destroyGraphs(program);
  if (result == CUDA_SUCCESS)
    result = makeReady(program);
  if (!saidByLibrary.empty())
    return refuse(error, Failure::machine,
                  "the step cannot be made ready: " + saidByLibrary);
  return context->check(result, "the step cannot be made ready",
                        Failure::machine, error);
}

CUresult CudaStep::start(const Node &node) {
  const CudaCallees::Kernel &kernel = callees.kernels[node.callee];
  if (isCall(node))
    return enqueueCall(node, context->stream);
  if (callees.calls[node.callee].onHost)
    return startHostCall(node);
  if (!kernel.function)
    return startCopy(node);
  std::vector<void *> parameters = parametersOf(node);
  return context->driver.cuLaunchKernel(
      kernel.function, kernel.launch.blocks, 1, 1, kernel.launch.threads, 1, 1,
      /*sharedBytes=*/0, context->stream, parameters.data(), nullptr);
}

CUresult CudaStep::startCopy(const Node &node) {
  const CudaDriverTable &driver = context->driver;
  const CUdeviceptr from = pointers[node.firstSlot],
                    to = pointers[node.firstSlot + 1];
  if (node.bytes == 0)
    return CUDA_SUCCESS;
  if (node.isFromHost)
    return driver.cuMemcpyHtoDAsync_v2(to, reinterpret_cast<void *>(from),
                                       node.bytes, context->stream);
  if (node.isToHost)
    return driver.cuMemcpyDtoHAsync_v2(reinterpret_cast<void *>(to), from,
                                       node.bytes, context->stream);
  return driver.cuMemcpyDtoDAsync_v2(to, from, node.bytes, context->stream);
}

CUresult CudaStep::walkGraph(Part &part, OperationObserver *observer) {
  if (callees.exchange) {
    // Nothing is launched whose communicators are gone.
    saidByLibrary = callees.exchange->whyEnded();
    if (!saidByLibrary.empty())
      return CUDA_ERROR_LAUNCH_FAILED;
    callees.exchange->countReceived(part.received);
  }
  if (observer)
    return measure(part.order, *observer);
  const ProfilerRanges::Range range(nameOfStep.c_str());
  return context->driver.cuGraphLaunch(part.executable, context->stream);
}

/// The GPU has the next node while it works on one, so that it measures its own
/// time and not that of starting. Of a node that is over before the process has
/// started the next, the time ends when that begins.
CUresult CudaStep::measure(std::span<const Entry> entries,
                           OperationObserver &observer) {
  const CudaDriverTable &driver = context->driver;
  std::vector<size_t> order;
  for (const Entry &entry : entries)
    if (entry.kind != Entry::await)
      order.push_back(entry.value);
  CUresult result = CUDA_SUCCESS;
  while (result == CUDA_SUCCESS && marks.size() <= order.size())
    result = driver.cuEventCreate(&marks.emplace_back(), /*flags=*/0);
  if (result == CUDA_SUCCESS)
    result = driver.cuEventRecord(marks.front(), context->stream);
  for (size_t i = 0; i < order.size() && result == CUDA_SUCCESS; ++i) {
    const ProfilerRanges::Range range(
        order[i] < namesOfNodes.size() ? namesOfNodes[order[i]].c_str() : "");
    result = start(nodes[order[i]]);
    if (result == CUDA_SUCCESS)
      result = driver.cuEventRecord(marks[i + 1], context->stream);
  }
  result = context->finish(result);
  for (size_t i = 0; i < order.size() && result == CUDA_SUCCESS; ++i) {
    float milliseconds = 0;
    result = driver.cuEventElapsedTime(&milliseconds, marks[i], marks[i + 1]);
    observer.took(order[i], double(milliseconds) * 1e-3);
  }
  return result;
}

CUresult CudaStep::readBack(size_t slot, void *to) {
  const CudaDriverTable &driver = context->driver;
  CUresult result = driver.cuMemcpyDtoHAsync_v2(
      to, pointers[slot], places[slot].bytes, context->stream);
  if (result == CUDA_SUCCESS)
    result = driver.cuStreamSynchronize(context->stream);
  // A loop might not end by what a refused call did not write.
  return result == CUDA_SUCCESS && callees.hostCalls->haveRefused()
             ? CUDA_ERROR_LAUNCH_FAILED
             : result;
}

CUresult CudaStep::walkLoop(Part &loop, OperationObserver *observer) {
  CUresult result = CUDA_SUCCESS;
  for (int64_t trip = 0; trip != loop.trips; ++trip) {
    if (loop.trips < 0) {
      uint8_t again = 0;
      result = walk(loop.blocks[0], observer);
      if (result == CUDA_SUCCESS)
        result = readBack(loop.slot, &again);
      if (result != CUDA_SUCCESS || !again)
        return result;
    }
    result = walk(loop.blocks[1], observer);
    if (result != CUDA_SUCCESS)
      return result;
  }
  return result;
}

CUresult CudaStep::walk(Part &part, OperationObserver *observer) {
  switch (part.kind) {
  case Part::graph:
    return walkGraph(part, observer);
  case Part::loop:
    return walkLoop(part, observer);
  case Part::branch: {
    std::array<std::byte, 4> selector{};
    CUresult result = readBack(part.slot, selector.data());
    return result == CUDA_SUCCESS
               ? walk(part.blocks[branchOf(selector.data(),
                                           places[part.slot].bytes,
                                           uint32_t(part.blocks.size()))],
                      observer)
               : result;
  }
  }
  return CUDA_SUCCESS;
}

CUresult CudaStep::walk(Sequence &parts, OperationObserver *observer) {
  CUresult result = CUDA_SUCCESS;
  for (Part &part : parts)
    if (result == CUDA_SUCCESS)
      result = walk(part, observer);
  return result;
}

void CudaStep::tellFailure(CUresult result, RunOutcome &outcome) {
  if (auto refused = callees.hostCalls->takeRefused()) {
    outcome.failedOperation =
        size_t(std::ranges::find(nodes, refused->callee, &Node::callee) -
               nodes.begin());
    outcome.whatFailed = refused->said;
  } else {
    outcome.whatFailed =
        saidByLibrary.empty()
            ? context->name + " reports: " + context->driver.textOf(result)
            : saidByLibrary;
  }
}

bool CudaStep::start(RunOutcome &outcome) {
  CUresult result = walk(program, nullptr);
  if (result != CUDA_SUCCESS)
    tellFailure(result, outcome);
  return result == CUDA_SUCCESS;
}

/// An exchange that was aborted ends like any other.
CUresult CudaStep::finish() {
  CUresult result = context->driver.cuStreamSynchronize(context->stream);
  if (result == CUDA_SUCCESS && callees.hostCalls->haveRefused())
    return CUDA_ERROR_LAUNCH_FAILED;
  if (!callees.exchange)
    return result;
  saidByLibrary = callees.exchange->whyEnded();
  return result == CUDA_SUCCESS && !saidByLibrary.empty()
             ? CUDA_ERROR_LAUNCH_FAILED
             : result;
}

RunOutcome CudaStep::run(int64_t steps, unsigned, OperationObserver *observer) {
  RunOutcome outcome;
  CUresult result = context->enter();
  while (outcome.wholeSteps < steps && result == CUDA_SUCCESS) {
    result = walk(program, observer);
    if (result == CUDA_SUCCESS)
      result = finish();
    outcome.wholeSteps += result == CUDA_SUCCESS;
  }
  if (result != CUDA_SUCCESS)
    tellFailure(result, outcome);
  return outcome;
}
