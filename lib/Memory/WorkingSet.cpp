//===- WorkingSet.cpp - Bytes that no plan goes below ---------------------===//
//
// See WorkingSet.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/WorkingSet.h"

#include "PlanRecord.h"
#include "Views.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Memory/BufferClasses.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// Which values may share a buffer, and which may leave the temporaries.
class Connections {
public:
  explicit Connections(func::FuncOp main) {
    main.getBody().walk([&](Operation *op) {
      if (op->getParentOfType<step::GroupOp>())
        return;
      if (auto group = dyn_cast<step::GroupOp>(op))
        connectGroup(group);
      else if (isView(op))
        for (Value result : op->getResults())
          names.unionSets(number(viewedBy(result)), number(result));
      else
        bind(op);
    });
    // A name of a value shares its buffer.
    for (auto &[value, id] : numbers)
      buffers.unionSets(id, names.getLeaderValue(id));
    for (int64_t id : bound)
      boundBuffers.insert(buffers.getOrInsertLeaderValue(id));
  }

  /// Whether the value lies among the temporaries in every plan.
  bool isTemporary(Value value) {
    return value.getDefiningOp() &&
           !boundBuffers.contains(
               buffers.getOrInsertLeaderValue(number(value)));
  }
  /// Equal for names of one value.
  int64_t storageOf(Value value) {
    return names.getOrInsertLeaderValue(number(value));
  }

private:
  int64_t number(Value value) {
    int64_t id = numbers.insert({value, int64_t(numbers.size())}).first->second;
    names.insert(id);
    buffers.insert(id);
    return id;
  }

  void connectGroup(step::GroupOp group) {
    for (auto [index, input] : llvm::enumerate(group.getInputs())) {
      if (!input.getDefiningOp())
        bound.push_back(number(input));
      for (unsigned result = 0; result < group.getNumResults(); ++result)
        if (mayOverwrite(group, index, result))
          buffers.unionSets(number(input), number(group.getResult(result)));
    }
  }

  /// Terminators, constants, loops and branches: all they touch may lie in
  /// another segment.
  void bind(Operation *op) {
    for (Value operand : op->getOperands())
      bound.push_back(number(operand));
    for (Value result : op->getResults())
      bound.push_back(number(result));
  }

  llvm::MapVector<Value, int64_t> numbers;
  llvm::EquivalenceClasses<int64_t> names, buffers;
  SmallVector<int64_t> bound;
  llvm::DenseSet<int64_t> boundBuffers; // leaders
};

WorkingSet workingSetOf(step::GroupOp group, Connections &connections) {
  WorkingSet set;
  llvm::SmallDenseSet<int64_t> seen;
  auto add = [&](Value value, bool isWritten) {
    if (!connections.isTemporary(value) ||
        !seen.insert(connections.storageOf(value)).second)
      return;
    WorkingSet::Part part;
    part.bytes = placedBytes(storedBytes(value.getType()));
    part.type = typeText(value.getType());
    part.source = sourceOf(value);
    part.isWritten = isWritten;
    set.bytes += part.bytes;
    set.parts.push_back(std::move(part));
  };
  for (Value input : group.getInputs())
    add(input, false);
  for (auto [index, output] : llvm::enumerate(group.getOutputs())) {
    bool overwrites = false;
    for (unsigned input = 0; input < group.getNumOperands(); ++input)
      overwrites |= mayOverwrite(group, input, index);
    if (!overwrites)
      add(output, true);
  }
  if (auto scratch =
          group->getAttrOfType<IntegerAttr>(step::scratchBytesAttrName))
    if (scratch.getInt() > 0)
      set.scratchBytes = placedBytes(scratch.getInt());
  set.bytes += set.scratchBytes;
  return set;
}

} // namespace

WorkingSet memory::largestWorkingSet(func::FuncOp main) {
  Connections connections(main);
  WorkingSet largest;
  main.getBody().walk([&](step::GroupOp group) {
    WorkingSet set = workingSetOf(group, connections);
    if (set.bytes <= largest.bytes)
      return;
    set.source = sourceOf(group.getResult(0));
    largest = std::move(set);
  });
  llvm::sort(largest.parts,
             [](const WorkingSet::Part &a, const WorkingSet::Part &b) {
               return std::tie(b.bytes, a.isWritten, a.source, a.type) <
                      std::tie(a.bytes, b.isWritten, b.source, b.type);
             });
  return largest;
}

solver::RecomputeProblem WorkingSet::problem() const {
  // A node per value that is read, then the group, which writes the others.
  solver::RecomputeProblem problem;
  for (const Part &part : parts)
    if (!part.isWritten)
      problem.nodes.push_back({/*cost=*/1, part.bytes});
  auto node = int32_t(problem.nodes.size());
  problem.nodes.push_back({/*cost=*/1, 0, /*workspace=*/scratchBytes});
  for (const Part &part : parts)
    if (part.isWritten)
      problem.extraOutputs.push_back({node, part.bytes});
  for (int32_t input = 0; input < node; ++input)
    problem.edges.push_back({input, node});
  return problem;
}

solver::RecomputeSolution WorkingSet::proof(int64_t budget) const {
  solver::RecomputeSolution solution;
  solution.status = solver::RecomputeStatus::Infeasible;
  solution.budget = budget;
  solution.certificate.kind = solver::RecomputeCertificate::Kind::WorkingSet;
  solution.certificate.cut = int32_t(
      llvm::count_if(parts, [](const Part &part) { return !part.isWritten; }));
  return solution;
}
