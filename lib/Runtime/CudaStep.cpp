//===- CudaStep.cpp - An entry point as a CUDA graph ----------------------===//
//
// See CudaStep.h.
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"

using namespace tenon;
using namespace tenon::runtime;

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

static bool isTheQueue(uint32_t queue, Error &error) {
  return queue == 0 ||
         refuse(error, Failure::file,
                "the file is damaged: an instruction is for queue " +
                    std::to_string(queue) + ", a GPU has only 0");
}

bool CudaCapture::launch(const format::Instruction &invoke, Error &error) {
  if (!isTheQueue(invoke.queue, error))
    return false;
  const format::Callee &callee = callees.described[invoke.callee];
  CudaStep::Node node{.callee = invoke.callee,
                      .firstSlot = step->places.size(),
                      .slotCount = invoke.operands.size()};
  if (callee.kind == format::CalleeKind::copy)
    node.bytes = invoke.operands[0].bytes;
  step->places.insert(step->places.end(), invoke.operands.begin(),
                      invoke.operands.end());
  step->written.resize(step->places.size(), true);
  for (int64_t argument : callee.reads)
    if (argument >= 0 && size_t(argument) < node.slotCount)
      step->written[node.firstSlot + size_t(argument)] = false;
  step->nodes.push_back(node);
  return true;
}

std::optional<Event> CudaCapture::record(uint32_t queue, Error &error) {
  return isTheQueue(queue, error) ? std::optional(Event{queue}) : std::nullopt;
}

bool CudaCapture::loop(const format::Slice &, const Body &, const Body &,
                       Error &error) {
  return refuse(error, Failure::machine,
                "the file has a loop, which GPUs do not run yet; compile the "
                "step again with --target=cpu");
}

bool CudaCapture::branch(const format::Slice &, std::span<const Body>,
                         Error &error) {
  return refuse(error, Failure::machine,
                "the file has a conditional, which GPUs do not run yet; "
                "compile the step again with --target=cpu");
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

CudaStep::~CudaStep() {
  context->enter();
  destroyGraph();
}

void CudaStep::destroyGraph() {
  if (executable)
    context->driver.cuGraphExecDestroy(executable);
  if (graph)
    context->driver.cuGraphDestroy(graph);
  executable = nullptr;
  graph = nullptr;
}

InstructionTime CudaStep::describe(size_t operation) const {
  const format::Callee &callee = callees.described[nodes[operation].callee];
  InstructionTime time;
  time.name = callee.name;
  time.what = callee.kind == format::CalleeKind::copy
                  ? std::to_string(nodes[operation].bytes) + " bytes"
                  : callee.description;
  time.fallback = callee.fallback;
  return time;
}

std::vector<void *> CudaStep::parametersOf(const Node &node) {
  std::vector<void *> parameters;
  for (size_t i = 0; i < node.slotCount; ++i)
    parameters.push_back(&pointers[node.firstSlot + i]);
  return parameters;
}

CUresult CudaStep::addTo(CUgraph into, const Node &node, CUgraphNode &last) {
  const CUgraphNode *after = last ? &last : nullptr;
  CUgraphNode added = nullptr;
  CUresult result = CUDA_SUCCESS;
  const CudaCallees::Kernel &kernel = callees.kernels[node.callee];
  if (kernel.function) {
    std::vector<void *> parameters = parametersOf(node);
    CUDA_KERNEL_NODE_PARAMS what{};
    what.func = kernel.function;
    what.gridDimX = kernel.launch.blocks;
    what.blockDimX = kernel.launch.threads;
    what.gridDimY = what.gridDimZ = what.blockDimY = what.blockDimZ = 1;
    what.kernelParams = parameters.data();
    result = context->driver.cuGraphAddKernelNode_v2(&added, into, after,
                                                     after ? 1 : 0, &what);
  } else if (node.bytes > 0) {
    CUDA_MEMCPY3D what{};
    what.srcMemoryType = what.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    what.srcDevice = pointers[node.firstSlot];
    what.dstDevice = pointers[node.firstSlot + 1];
    what.WidthInBytes = node.bytes;
    what.Height = what.Depth = 1;
    result = context->driver.cuGraphAddMemcpyNode(
        &added, into, after, after ? 1 : 0, &what, /*context=*/nullptr);
  }
  if (added)
    last = added;
  return result;
}

bool CudaStep::update(Error &error) {
  const CudaDriverTable &driver = context->driver;
  CUresult result = context->enter();
  destroyGraph();
  if (result == CUDA_SUCCESS)
    result = driver.cuGraphCreate(&graph, 0);
  CUgraphNode last = nullptr;
  for (const Node &node : nodes)
    if (result == CUDA_SUCCESS)
      result = addTo(graph, node, last);
  if (result == CUDA_SUCCESS)
    result = driver.cuGraphInstantiateWithFlags(&executable, graph, 0);
  return context->check(result, "the step cannot be made ready",
                        Failure::machine, error);
}

CUresult CudaStep::start(const Node &node) {
  const CudaCallees::Kernel &kernel = callees.kernels[node.callee];
  if (!kernel.function)
    return node.bytes == 0
               ? CUDA_SUCCESS
               : context->driver.cuMemcpyDtoDAsync_v2(
                     pointers[node.firstSlot + 1], pointers[node.firstSlot],
                     node.bytes, context->stream);
  std::vector<void *> parameters = parametersOf(node);
  return context->driver.cuLaunchKernel(
      kernel.function, kernel.launch.blocks, 1, 1, kernel.launch.threads, 1, 1,
      /*sharedBytes=*/0, context->stream, parameters.data(), nullptr);
}

CUresult CudaStep::runOnce(OperationObserver *observer) {
  const CudaDriverTable &driver = context->driver;
  CUresult result = CUDA_SUCCESS;
  if (!observer) {
    result = driver.cuGraphLaunch(executable, context->stream);
    return result == CUDA_SUCCESS ? driver.cuStreamSynchronize(context->stream)
                                  : result;
  }
  for (size_t i = 0; i < nodes.size() && result == CUDA_SUCCESS; ++i) {
    observer->begin(i);
    result = start(nodes[i]);
    if (result == CUDA_SUCCESS)
      result = driver.cuStreamSynchronize(context->stream);
    observer->end(i);
  }
  return result;
}

RunOutcome CudaStep::run(int64_t steps, unsigned, OperationObserver *observer) {
  RunOutcome outcome;
  CUresult result = context->enter();
  while (outcome.wholeSteps < steps && result == CUDA_SUCCESS) {
    result = runOnce(observer);
    outcome.wholeSteps += result == CUDA_SUCCESS;
  }
  if (result != CUDA_SUCCESS)
    outcome.whatFailed =
        context->name + " reports: " + context->driver.textOf(result);
  return outcome;
}
