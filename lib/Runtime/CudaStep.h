//===- CudaStep.h - An entry point as a CUDA graph ------------------------===//
//
// Private to this folder. The instructions of an entry point become nodes of a
// graph, one after the other, which is made ready once and launched once a
// step. There is no control flow: the compiler lets none through.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUDASTEP_H
#define TENON_LIB_RUNTIME_CUDASTEP_H

#include "CudaDevice.h"

namespace tenon::runtime {

class CudaStep final : public CapturedStep {
public:
  /// The callees outlive the step.
  CudaStep(std::shared_ptr<CudaContext> context, const CudaCallees &callees)
      : context(std::move(context)), callees(callees) {}
  ~CudaStep() override;

  std::pair<size_t, size_t> slotsOf(size_t operation) const override {
    return {nodes[operation].firstSlot, nodes[operation].slotCount};
  }
  size_t operationCount() const override { return nodes.size(); }
  InstructionTime describe(size_t operation) const override;
  void setPointer(size_t slot, void *address) override {
    pointers[slot] = reinterpret_cast<CUdeviceptr>(address);
  }
  /// Makes the graph anew.
  bool update(Error &error) override;
  /// With an observer node by node, without the graph.
  RunOutcome run(int64_t steps, unsigned threads,
                 OperationObserver *observer) override;

private:
  friend class CudaCapture;

  struct Node {
    uint32_t callee = 0;
    size_t firstSlot = 0, slotCount = 0;
    uint64_t bytes = 0; // of a copy
  };

  CUresult runOnce(OperationObserver *observer);
  CUresult start(const Node &node);
  CUresult addTo(CUgraph graph, const Node &node, CUgraphNode &last);
  /// The addresses of what a kernel is given, as CUDA takes them.
  std::vector<void *> parametersOf(const Node &node);
  void destroyGraph();

  std::shared_ptr<CudaContext> context;
  const CudaCallees &callees;
  std::vector<Node> nodes;
  std::vector<CUdeviceptr> pointers; // per slot
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
};

class CudaCapture final : public Capture {
public:
  CudaCapture(std::shared_ptr<CudaContext> context, const CudaCallees &callees)
      : callees(callees),
        step(std::make_unique<CudaStep>(std::move(context), callees)) {}

  bool launch(const format::Instruction &invoke, Error &error) override;
  std::optional<Event> record(uint32_t queue, Error &error) override;
  /// Nothing: all nodes follow each other.
  void wait(Event) override {}
  bool loop(const format::Slice &predicate, const Body &condition,
            const Body &body, Error &error) override;
  bool branch(const format::Slice &selector, std::span<const Body> branches,
              Error &error) override;
  std::unique_ptr<CapturedStep> finish(Error &) override {
    step->pointers.resize(step->places.size());
    return std::move(step);
  }

private:
  const CudaCallees &callees;
  std::unique_ptr<CudaStep> step;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUDASTEP_H
