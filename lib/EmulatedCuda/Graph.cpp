//===- Graph.cpp - Graphs of work -----------------------------------------===//
//
// A launch runs the nodes in an order that the edges allow. Which bytes each
// node read and wrote is noted, and every pair of nodes without a path between
// them is compared, so that a missing edge is found whatever the order was.
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"
#include <algorithm>

using namespace tenon::emulated;

struct CUgraphNode_st {
  CUgraph graph;
  size_t index;
};

struct Node {
  Work work;
  std::vector<size_t> after;
};

struct CUgraph_st {
  std::vector<Node> nodes;
  std::vector<std::unique_ptr<CUgraphNode_st>> handles;
};
struct CUgraphExec_st {
  std::vector<Node> nodes;
  std::vector<size_t> order;
};

namespace {

/// The pinned memory that copies of a graph touch. Functions of the host in the
/// graph are there for these bytes.
std::set<Region *> pinnedMemoryOf(const CUgraphExec_st &graph,
                                  DeviceMemory &memory) {
  std::set<Region *> found;
  for (const Node &node : graph.nodes)
    if (auto *copy = std::get_if<CopyWork>(&node.work))
      for (uint64_t address : {copy->from, copy->to})
        if (Region *region = memory.find(address);
            region && region->kind == Region::Host)
          found.insert(region);
  return found;
}

/// Takes a function of the host to read and write all of that memory.
void markHostFunction(const std::set<Region *> &pinned) {
  for (Region *region : pinned) {
    if (!region->isWritten(0, region->bytes))
      throw Fault{CUDA_ERROR_LAUNCH_FAILED,
                  "uninitialised: a function of the host runs behind a copy of "
                  "bytes that were never written"};
    region->markFootprint(0, region->bytes, true, true);
  }
}

} // namespace

Footprints Driver::execute(const GraphWork &work) {
  const CUgraphExec_st &graph = *work.executable;
  const size_t count = graph.nodes.size();
  std::vector<Footprints> footprints(count);
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  struct Drop {
    DeviceMemory &memory;
    ~Drop() { dropFootprints(memory); }
  } drop{*memory};
  const std::set<Region *> pinned = pinnedMemoryOf(graph, *memory);
  std::vector<size_t> done;
  Footprints all;
  for (size_t index : graph.order) {
    const Node &node = graph.nodes[index];
    for (size_t earlier : node.after) {
      before[index][earlier] = true;
      for (size_t i = 0; i < count; ++i)
        if (before[earlier][i])
          before[index][i] = true;
    }
    noteFootprints(*memory);
    if (std::holds_alternative<HostWork>(node.work))
      markHostFunction(pinned);
    executeNode(node.work);
    footprints[index] = takeFootprints(*memory);
    if (streams.size() > 1) // otherwise nothing runs beside the graph
      join(all, footprints[index]);
    for (size_t earlier : done)
      if (!before[index][earlier])
        if (auto conflict =
                findConflict(footprints[earlier], footprints[index]))
          throw Fault{CUDA_ERROR_LAUNCH_FAILED,
                      "race between nodes of a graph: " +
                          nameOf(graph.nodes[earlier].work) + " and " +
                          nameOf(node.work) + " " + conflict->text() +
                          ", and no path leads from one node to the other"};
    done.push_back(index);
  }
  return all;
}

CUresult tenon::emulated::addNode(CUgraphNode *node, CUgraph graph,
                                  const CUgraphNode *after, size_t afterCount,
                                  Work work) {
  Node added{std::move(work), {}};
  for (size_t i = 0; i < afterCount; ++i) {
    if (after[i]->graph != graph || std::count(after, after + i, after[i]))
      return CUDA_ERROR_INVALID_VALUE;
    added.after.push_back(after[i]->index);
  }
  graph->handles.push_back(std::make_unique<CUgraphNode_st>(
      CUgraphNode_st{graph, graph->nodes.size()}));
  graph->nodes.push_back(std::move(added));
  *node = graph->handles.back().get();
  return CUDA_SUCCESS;
}

#pragma GCC visibility push(default)

CUresult cuGraphCreate(CUgraph *graph, unsigned) {
  BEGIN_CALL;
  *graph = new CUgraph_st;
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
                                 const CUgraphNode *after, size_t afterCount,
                                 const CUDA_KERNEL_NODE_PARAMS *what) {
  BEGIN_CALL;
  KernelWork work{what->func,
                  {what->gridDimX, what->gridDimY, what->gridDimZ},
                  {what->blockDimX, what->blockDimY, what->blockDimZ},
                  what->sharedMemBytes,
                  {}};
  if (CUresult error = driver.prepare(work, what->kernelParams, what->extra))
    return error;
  return addNode(node, graph, after, afterCount, std::move(work));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph,
                              const CUgraphNode *after, size_t afterCount,
                              const CUDA_MEMCPY3D *what, CUcontext) {
  BEGIN_CALL;
  if (what->Height != 1 || what->Depth != 1 || what->srcY || what->srcZ ||
      what->dstY || what->dstZ)
    return driver.error(CUDA_ERROR_NOT_SUPPORTED,
                        "a copy of more than one row");
  auto address = [](CUmemorytype type, const void *host, CUdeviceptr device) {
    return type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host)
                                      : uint64_t(device);
  };
  if (what->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
      what->dstMemoryType == CU_MEMORYTYPE_ARRAY)
    return CUDA_ERROR_NOT_SUPPORTED;
  CopyWork work{address(what->dstMemoryType, what->dstHost, what->dstDevice) +
                    what->dstXInBytes,
                address(what->srcMemoryType, what->srcHost, what->srcDevice) +
                    what->srcXInBytes,
                what->WidthInBytes, what->dstMemoryType == CU_MEMORYTYPE_DEVICE,
                what->srcMemoryType == CU_MEMORYTYPE_DEVICE};
  return addNode(node, graph, after, afterCount, work);
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph,
                            const CUgraphNode *after, size_t afterCount,
                            const CUDA_HOST_NODE_PARAMS *what) {
  BEGIN_CALL;
  if (!what->fn)
    return CUDA_ERROR_INVALID_VALUE;
  return addNode(node, graph, after, afterCount,
                 HostWork{what->fn, what->userData});
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph,
                              const CUgraphNode *after, size_t afterCount,
                              const CUDA_MEMSET_NODE_PARAMS *what, CUcontext) {
  BEGIN_CALL;
  if (what->height != 1)
    return driver.error(CUDA_ERROR_NOT_SUPPORTED,
                        "a fill of more than one row");
  if (what->elementSize != 1 && what->elementSize != 2 &&
      what->elementSize != 4)
    return CUDA_ERROR_INVALID_VALUE;
  return addNode(
      node, graph, after, afterCount,
      FillWork{what->dst, what->value, what->elementSize, what->width});
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph,
                             const CUgraphNode *after, size_t afterCount) {
  BEGIN_CALL;
  return addNode(node, graph, after, afterCount, std::monostate());
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph,
                                  const CUgraphNode *after, size_t afterCount,
                                  CUgraph child) {
  BEGIN_CALL;
  // The child's nodes become the graph's, between its predecessors and an empty
  // node.
  std::vector<CUgraphNode> copies;
  for (const Node &each : child->nodes) {
    std::vector<CUgraphNode> behind;
    for (size_t earlier : each.after)
      behind.push_back(copies[earlier]);
    if (behind.empty())
      behind.assign(after, after + afterCount);
    if (CUresult error = addNode(&copies.emplace_back(), graph, behind.data(),
                                 behind.size(), each.work))
      return error;
  }
  if (copies.empty())
    copies.assign(after, after + afterCount);
  return addNode(node, graph, copies.data(), copies.size(), std::monostate());
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph,
                        const CUgraphNode *after, size_t afterCount,
                        CUgraphNodeParams *what) {
  switch (what->type) {
  case CU_GRAPH_NODE_TYPE_KERNEL:
    return cuGraphAddKernelNode_v2(node, graph, after, afterCount,
                                   &what->kernel);
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    return cuGraphAddMemcpyNode(node, graph, after, afterCount,
                                &what->memcpy.copyParams, nullptr);
  case CU_GRAPH_NODE_TYPE_MEMSET:
    return cuGraphAddMemsetNode(node, graph, after, afterCount,
                                &what->memset.memset, nullptr);
  case CU_GRAPH_NODE_TYPE_EMPTY:
    return cuGraphAddEmptyNode(node, graph, after, afterCount);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph,
                           const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t afterCount,
                           CUgraphNodeParams *what) {
  // A programmatic edge lets the nodes overlap until griddepcontrol.wait.
  for (size_t i = 0; edges && i < afterCount; ++i)
    if (edges[i].type || edges[i].from_port || edges[i].to_port)
      return Driver::instance().error(CUDA_ERROR_NOT_SUPPORTED,
                                      "programmatic edges of a graph");
  return cuGraphAddNode(node, graph, after, afterCount, what);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
                                     unsigned long long) {
  BEGIN_CALL;
  auto made = std::make_unique<CUgraphExec_st>();
  made->nodes = graph->nodes;
  // Nodes name earlier ones only, so their order of creation is one that the
  // edges allow; the order may also be another, to show that nothing depends on
  // it.
  const uint64_t order = driver.settings.order;
  std::vector<bool> done(made->nodes.size());
  while (made->order.size() < made->nodes.size()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < made->nodes.size(); ++i)
      if (!done[i] &&
          std::all_of(made->nodes[i].after.begin(), made->nodes[i].after.end(),
                      [&](size_t earlier) { return done[earlier]; }))
        ready.push_back(i);
    size_t pick =
        order == 0 ? ready.front()
        : order == 1
            ? ready.back()
            : ready[scramble(order, made->order.size()) % ready.size()];
    done[pick] = true;
    made->order.push_back(pick);
  }
  *executable = made.release();
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  Call call;
  call.driver.finishAll(); // launches of it are under way
  delete executable;
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  BEGIN_CALL;
  return driver.enqueue(stream, GraphWork{executable});
}

#pragma GCC visibility pop
