//===- KnownKernels.cpp - What is known of kernels that are alike ---------===//
//
// See KnownKernels.h. A set of operations is written as a row of numbers, in
// which values have numbers in the order in which they are met; sets are alike
// if their rows are equal.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/KnownKernels.h"

#include "tenon/Analysis/KernelDescription.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Fusion/GroupLegality.h"

#include "mlir/IR/OperationSupport.h"

#include <utility>

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// Compares operations but for the values that they read, of which the types
/// count, for places in the user's program, and for what stages note on them:
/// of that a kernel depends on casts alone.
struct SameContent : llvm::DenseMapInfo<Operation *> {
  static constexpr auto flags = OperationEquivalence::IgnoreLocations |
                                OperationEquivalence::IgnoreDiscardableAttrs;
  static unsigned getHashValue(Operation *op) {
    return OperationEquivalence::computeHash(
        op, OperationEquivalence::ignoreHashValue,
        OperationEquivalence::ignoreHashValue, flags);
  }
  static bool isEqual(Operation *a, Operation *b) {
    if (a == b)
      return true;
    for (Operation *op : {a, b})
      if (op == getEmptyKey() || op == getTombstoneKey())
        return false;
    if (step::isCompilerCast(a) != step::isCompilerCast(b))
      return false;
    llvm::SmallDenseMap<Value, Value, 4> inside; // the operations' regions
    auto areSame = [&](Value left, Value right) {
      auto known = inside.find(left);
      return success(known == inside.end() ? left.getType() == right.getType()
                                           : known->second == right);
    };
    auto mark = [&](Value left, Value right) { inside[left] = right; };
    return OperationEquivalence::isEquivalentTo(a, b, areSame, mark, flags);
  }
};

} // namespace

KnownKernels::KnownKernels(const GroupGraph &graph)
    : graph(graph), members(graph.size()), operationMarks(graph.size()) {
  findContents();
}

void KnownKernels::findContents() {
  llvm::DenseMap<Operation *, unsigned, SameContent> contents;
  auto numberOf = [&](Value value) {
    return values.try_emplace(value, values.size()).first->second;
  };
  for (auto [number, member] : llvm::enumerate(members)) {
    Operation *op = graph.operation(number);
    member.content = contents.try_emplace(op, contents.size()).first->second;
    member.isUpdate = isa<stablehlo::DynamicUpdateSliceOp>(op);
    for (Value operand : op->getOperands())
      member.operands.push_back(numberOf(operand));
    member.firstResult = values.size();
    member.resultCount = op->getNumResults();
    for (Value result : op->getResults())
      numberOf(result);
  }
  valueMarks.resize(values.size());
  writtenMarks.resize(values.size());
  names.resize(values.size());
}

bool KnownKernels::isReadOutside(unsigned number, unsigned result) const {
  auto isOutside = [&](unsigned reader) {
    return operationMarks[reader] != lastMark;
  };
  if (members[number].resultCount == 1)
    return graph.leavesBlock(number) ||
           llvm::any_of(graph.readersOf(number), isOutside);
  return llvm::any_of(graph.operation(number)->getResult(result).getUsers(),
                      [&](Operation *user) {
                        std::optional<unsigned> reader = graph.numberOf(user);
                        return !reader || isOutside(*reader);
                      });
}

KnownKernels::Facts &
KnownKernels::factsOf(ArrayRef<unsigned> numbers,
                      llvm::function_ref<bool(unsigned, unsigned)> isWritten) {
  constexpr unsigned isFromOutside = 1u << 31;
  ++lastMark;
  key.clear();
  for (unsigned number : numbers)
    operationMarks[number] = lastMark;
  unsigned met = 0;
  // The number that a value has in the row, and whether it had one before.
  auto meet = [&](unsigned value) {
    const bool isNew = std::exchange(valueMarks[value], lastMark) != lastMark;
    if (isNew)
      names[value] = met++;
    return std::pair(names[value], isNew);
  };
  for (unsigned number : numbers) {
    const Member &member = members[number];
    // Whether an update may be in place depends on who else reads its operand.
    if (member.isUpdate)
      return unknown = Facts();
    key.push_back(member.content);
    for (unsigned operand : member.operands) {
      auto [name, isNew] = meet(operand);
      key.push_back(isNew ? name | isFromOutside : name);
    }
    for (unsigned result = 0; result < member.resultCount; ++result) {
      meet(member.firstResult + result);
      key.push_back(isWritten(number, result));
    }
  }
  return known[StringRef(reinterpret_cast<const char *>(key.data()),
                         key.size() * sizeof(unsigned))];
}

KnownKernels::Facts &KnownKernels::factsOf(ArrayRef<unsigned> numbers) {
  return factsOf(numbers, [&](unsigned number, unsigned result) {
    return isReadOutside(number, result);
  });
}

cost::KernelWork KnownKernels::workOf(ArrayRef<unsigned> numbers) {
  Facts &facts = factsOf(numbers);
  if (!facts.work) {
    SmallVector<Operation *> operations = graph.operations(numbers);
    facts.work = cost::workOf({operations, GroupGraph::resultsOf(operations)});
  }
  return *facts.work;
}

cost::KernelWork KnownKernels::workOf(ArrayRef<unsigned> numbers,
                                      ArrayRef<Value> results) {
  for (Value result : results)
    writtenMarks[values.lookup(result)] = lastMark + 1;
  Facts &facts = factsOf(numbers, [&](unsigned number, unsigned result) {
    return writtenMarks[members[number].firstResult + result] == lastMark;
  });
  if (!facts.work)
    facts.work = cost::workOf({graph.operations(numbers), results});
  return *facts.work;
}

std::optional<cost::KernelWork>
KnownKernels::workIfLegal(ArrayRef<unsigned> numbers, std::string *whyNot) {
  Facts &facts = factsOf(numbers);
  const bool isKnown =
      facts.isLegal && (*facts.isLegal ? facts.work.has_value() : !whyNot);
  if (!isKnown) {
    SmallVector<Operation *> operations = graph.operations(numbers);
    KernelDescription kernel(operations, GroupGraph::resultsOf(operations));
    facts.isLegal = kindOf(kernel, whyNot).has_value();
    if (*facts.isLegal)
      facts.work = cost::workOf(kernel);
  }
  return *facts.isLegal ? facts.work : std::nullopt;
}
