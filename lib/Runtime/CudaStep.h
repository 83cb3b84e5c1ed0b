//===- CudaStep.h - An entry point as CUDA graphs -------------------------===//
//
// Private to this folder. The instructions of an entry point become nodes of
// graphs, which are made ready once. Those of queue 0 come one behind the
// other. A collective of queue 1 (c, d) comes behind what queue 0 had before it
// and behind the one before it in queue 1, and what is behind a wait comes
// behind those that are awaited:
//
//   a, start c, b, start d, wait pending 1, e      a ------ b ------ e
//                                                   \        \      /
//                                                    c ----- d     /
//                                                     \-----------/
//
// A collective of queue 0 comes behind all of queue 1, too, so that collectives
// have one order, which is that of all ranks. Copies to the host's memory and
// back are queues like it, each with an engine of the GPU. A graph waits for
// all of the one before it.
//
// Control flow cuts the step into a tree, which the host walks in every step:
//
//   a, b, while(p) {c} do {d, e}, f          graph a b
//                                            loop  graph c; reads p; graph d e
//                                            graph f
//   a, while(p, 2 trips) {c} do {d, e}, f    graph a d e d e f
//
// A loop whose trip count is known is repeated inside its graph as long as the
// step stays small (tenon/Target/GraphNodes.h). Beyond that, and where its body
// is cut itself, the host counts its rounds; in both cases the condition does
// not run, and nothing is read back. Any other loop and each conditional waits
// for the GPU, since the host has to know the predicate or the selector.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUDASTEP_H
#define TENON_LIB_RUNTIME_CUDASTEP_H

#include "CudaDevice.h"
#include "StartedWork.h"

#include "tenon/Target/GraphNodes.h"

namespace tenon::runtime {

class CudaStep final : public CapturedStep {
public:
  /// The callees outlive the step.
  CudaStep(std::shared_ptr<CudaContext> context, const CudaCallees &callees)
      : context(std::move(context)), callees(callees) {}
  ~CudaStep() override;

  Pointers slotsOf(size_t operation) const override {
    return {nodes[operation].firstSlot, nodes[operation].slotCount};
  }
  size_t operationCount() const override { return nodes.size(); }
  InstructionTime describe(size_t operation) const override;
  void nameRanges(const std::string &step,
                  std::vector<std::string> operations) override {
    nameOfStep = step;
    namesOfNodes = std::move(operations);
  }
  void setPointer(size_t slot, void *address) override {
    pointers[slot] = reinterpret_cast<CUdeviceptr>(address);
  }
  /// Makes all graphs anew.
  bool update(Error &error) override;
  /// Runs it once without waiting for its end. False with what has failed.
  bool start(RunOutcome &outcome);
  /// With an observer node by node, without the graphs.
  RunOutcome run(int64_t steps, unsigned threads,
                 OperationObserver *observer) override;

private:
  friend class CudaCapture;
  friend class CudaPipeline;

  struct Node {
    uint32_t callee = 0;
    size_t firstSlot = 0, slotCount = 0;
    uint64_t bytes = 0; // of a copy, and whether either end is the host's
    bool isFromHost = false, isToHost = false;
  };

  /// What a graph's nodes are made from, one behind the other.
  struct Entry {
    enum Kind : uint8_t {
      run,   // a node, in the queue
      await, // all that was started in the queue, but the last
    };
    Kind kind = run;
    uint32_t queue = 0;
    size_t value = 0; // the number of the node; how many are not awaited
  };

  /// A graph, or control flow with what it runs.
  struct Part {
    enum Kind : uint8_t { graph, loop, branch };
    Kind kind = graph;
    // Of a graph.
    std::vector<Entry> order; // again for every repetition
    CUgraph made = nullptr;
    CUgraphExec executable = nullptr;
    int64_t received = 0; // bytes, of other ranks
    // Of control flow.
    size_t slot = 0;    // of the selector, or of a predicate that is read
    int64_t trips = -1; // of a loop, -1 if its predicate is read
    std::vector<std::vector<Part>> blocks; // condition and body; the branches
  };
  using Sequence = std::vector<Part>; // one after the other

  CUresult walk(Sequence &parts, OperationObserver *observer);
  CUresult walk(Part &part, OperationObserver *observer);
  CUresult walkGraph(Part &part, OperationObserver *observer);
  CUresult walkLoop(Part &loop, OperationObserver *observer);
  /// Runs nodes without their graph, and says what the GPU took for each.
  CUresult measure(std::span<const Entry> order, OperationObserver &observer);
  /// Waits for all that was started, then copies what is at the slot.
  CUresult readBack(size_t slot, void *to);
  CUresult start(const Node &node);
  /// Fills in what has failed, in the library's or the driver's words. Nothing
  /// is under way that the host could refuse.
  void tellFailure(CUresult result, RunOutcome &outcome);
  CUresult makeReady(Sequence &parts);
  CUresult makeGraph(Part &part);
  /// Nodes of a graph that what is added comes behind, each once. These
  /// functions leave there what they have added, if anything.
  using Before = std::vector<CUgraphNode>;
  CUresult addTo(CUgraph graph, const Node &node, Before &before);
  CUresult addCopy(CUgraph graph, const CUDA_MEMCPY3D &what, Before &before);
  /// The copies and the function of a call on the host.
  CUresult addHostCall(CUgraph graph, const Node &node, Before &before);
  CUresult startHostCall(const Node &node);
  CUresult startCopy(const Node &node);
  /// Whether it is what a library does: a call or a collective.
  bool isCall(const Node &node) const {
    return callees.calls[node.callee].ready || callees.collectives[node.callee];
  }
  /// The graph of what a library does.
  CUresult captureCall(const Node &node, CUgraph &graph);
  CUresult enqueueCall(const Node &node, CUstream stream);
  /// Waits for all that was started. What ranks exchanged, and what the host
  /// computed, is right then.
  CUresult finish();
  /// The addresses of what a kernel is given, as CUDA takes them.
  std::vector<void *> parametersOf(const Node &node);
  void destroyGraphs(Sequence &parts);

  std::shared_ptr<CudaContext> context;
  const CudaCallees &callees;
  std::vector<Node> nodes;
  std::vector<CUdeviceptr> pointers; // per slot
  std::string saidByLibrary;         // of the call that failed, and by which
  std::vector<CUevent> marks;        // between nodes that are measured
  std::string nameOfStep;            // for a profiler
  std::vector<std::string> namesOfNodes;
  Sequence program;
};

class CudaCapture final : public Capture {
public:
  CudaCapture(std::shared_ptr<CudaContext> context, const CudaCallees &callees)
      : callees(callees),
        step(std::make_unique<CudaStep>(std::move(context), callees)),
        started(*step, callees.described, /*copiesBeside=*/true),
        into(&step->program) {}

  bool launch(const format::Instruction &invoke, Error &error) override;
  std::optional<Event> record(uint32_t queue, uint32_t pending,
                              Error &error) override;
  void wait(Event event) override;
  bool loop(const format::Slice &predicate, int64_t trips,
            const Body &condition, const Body &body, Error &error) override;
  bool branch(const format::Slice &selector, std::span<const Body> branches,
              Error &error) override;
  size_t slotCount() const override { return step->places.size(); }
  std::unique_ptr<CapturedStep> finish(Error &error) override;

private:
  /// What the body captures; nothing if it cannot.
  std::optional<CudaStep::Sequence> captured(const Body &body, Error &error);
  /// Has the part read a predicate or a selector.
  bool readsIn(CudaStep::Part &part, const format::Slice &slice, Error &error);
  bool checkCall(const format::Instruction &invoke, Error &error);
  bool checkCollective(const format::Instruction &invoke, Error &error);
  /// Whether only copies are given memory of the host.
  bool checkMemory(const format::Instruction &invoke, Error &error);
  /// The graph that takes what comes next.
  CudaStep::Part &openGraph();

  const CudaCallees &callees;
  std::unique_ptr<CudaStep> step;
  StartedWork started;
  CudaStep::Sequence *into; // what is being captured
  target::GraphNodes size;
  uint32_t toJoin = 0; // invocations that the last node launches, too
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUDASTEP_H
