//===- FormGroups.cpp - Put every operation into a group -----------------===//
//
// Works on one block at a time, loop bodies and branches included:
//
// 0. cheap functions of one value are recomputed by each of their readers, so
//    that a step keeps fewer values from its forward to its backward part;
// 1. reads that cost nothing are cloned into each of their readers, so that a
//    broadcast or a constant never forces two readers together or apart;
// 2. every other operation starts as a group of its own and is merged with the
//    writers of its operands, largest value first, as long as GroupLegality
//    finds a template for the union and GroupGraph finds no detour;
// 3. reductions over the same columns that read a common value are merged;
// 4. the groups are written out in the graph's topological order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/GroupGraph.h"
#include "tenon/Fusion/GroupLegality.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_FORMGROUPSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

bool isScalarConstant(Operation *op) {
  DenseElementsAttr value;
  return matchPattern(op, m_Constant(&value)) && value.getNumElements() == 1;
}

bool isSplatConstant(Operation *op) {
  DenseElementsAttr value;
  return matchPattern(op, m_Constant(&value)) && value.isSplat();
}

/// Whether the operation ends up inside a group.
bool isGrouped(Operation *op) {
  switch (classify(op)) {
  case OperationClass::pointwise:
  case OperationClass::indexMap:
  case OperationClass::reduction:
  case OperationClass::generic:
    return true;
  case OperationClass::view:
    return false;
  case OperationClass::ungrouped:
    return false;
  }
  return false;
}

/// Whether `user` takes `read` into its own group rather than from memory.
bool absorbs(Operation *user, Operation *read) {
  switch (classify(user)) {
  case OperationClass::pointwise:
  case OperationClass::indexMap:
  case OperationClass::reduction:
    return true;
  case OperationClass::generic:
    return isScalarConstant(read);
  case OperationClass::view:
  case OperationClass::ungrouped:
    return false;
  }
  return false;
}

/// Whether the operation stands in @main, a loop or a branch, not in the region
/// of a reduction or of another generic operation.
bool isInGroupedBlock(Operation *op) {
  return isa<func::FuncOp, stablehlo::WhileOp, stablehlo::CaseOp,
             stablehlo::IfOp>(op->getParentOp());
}

/// Longest chain of operations that is recomputed rather than stored.
constexpr int longestRecomputedChain = 8;

/// The one large value that `value` is a cheap element-wise function of: itself
/// if it is not such a function, null if there are several. What is read
/// through a broadcast is small and does not count.
Value rootOf(Value value, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > longestRecomputedChain ||
      classify(op) != OperationClass::pointwise || isExpensive(op))
    return value;
  Value root;
  for (Value operand : op->getOperands()) {
    Operation *writer = operand.getDefiningOp();
    if (writer && isFreeToClone(writer))
      continue;
    Value found = rootOf(operand, depth + 1);
    if (!found || (root && found != root))
      return value;
    root = found;
  }
  return root ? root : value;
}

/// Lets readers far apart recompute a cheap function of one value instead of
/// keeping it in memory between them: the value it is computed from is kept in
/// its place or is there anyway. Copies that end up in one group are merged
/// again.
void cloneCheapFunctions(Block &block) {
  SmallVector<Operation *> operations;
  for (Operation &op : block.without_terminator())
    operations.push_back(&op);
  size_t budget = 4 * operations.size() + 64;
  for (Operation *op : llvm::reverse(operations)) {
    if (classify(op) != OperationClass::pointwise || isExpensive(op))
      continue;
    SmallVector<Operation *> users;
    llvm::SmallDenseSet<Operation *> seen;
    for (Operation *user : op->getUsers())
      if (seen.insert(user).second)
        users.push_back(user);
    Value result = op->getResult(0);
    if (users.size() < 2 || users.size() > budget ||
        !llvm::all_of(users, [&](Operation *user) {
          return user->getBlock() == &block &&
                 (classify(user) == OperationClass::pointwise ||
                  classify(user) == OperationClass::reduction);
        }))
      continue;
    Value root = rootOf(result);
    if (!root || root == result ||
        storedBytes(root.getType()) > storedBytes(result.getType()))
      continue;
    budget -= users.size();
    for (Operation *user : ArrayRef(users).drop_front()) {
      Operation *copy = OpBuilder(user).clone(*op);
      user->replaceUsesOfWith(result, copy->getResult(0));
    }
    // The copies come after the operation, which may stay with its first
    // reader.
    op->moveBefore(users.front());
  }
}

/// Gives every reader its own copy of the reads that cost nothing.
void cloneFreeReads(Block &block) {
  SmallVector<Operation *> reads;
  for (Operation &op : block.without_terminator())
    if (isFreeToClone(&op))
      reads.push_back(&op);
  for (Operation *read : llvm::reverse(reads)) {
    // Readers in nested regions of this block's operations count as well.
    SmallVector<Operation *> users;
    llvm::SmallDenseSet<Operation *> seen;
    for (Operation *user : read->getUsers())
      if (absorbs(user, read) && isInGroupedBlock(user) &&
          seen.insert(user).second)
        users.push_back(user);
    for (Operation *user : users) {
      OpBuilder builder(user);
      Operation *copy = builder.clone(*read);
      user->replaceUsesOfWith(read->getResult(0), copy->getResult(0));
    }
    if (read->use_empty())
      read->erase();
  }
}

/// Forms the groups of one block.
class BlockGrouper {
public:
  BlockGrouper(Block &block, bool merge)
      : block(block), graph(block), mergeAll(merge) {}

  void run() {
    absorbFreeReads();
    if (mergeAll) {
      mergeAlongValues();
      mergeColumnSiblings();
    }
    writeGroups();
  }

private:
  using Id = GroupGraph::Id;

  bool tryMerge(Id first, Id second);
  void absorbFreeReads();
  void mergeAlongValues();
  void mergeColumnSiblings();
  void writeGroups();
  void writeGroup(ArrayRef<Operation *> members);
  bool canGroup(Id group) const {
    return llvm::all_of(graph.members(group), [](Operation *op) {
      return isGrouped(op) || isSplatConstant(op) ||
             classify(op) == OperationClass::view;
    });
  }
  bool isGeneric(Id group) const {
    return llvm::any_of(graph.members(group), [](Operation *op) {
      return classify(op) == OperationClass::generic;
    });
  }

  Block &block;
  GroupGraph graph;
  bool mergeAll;
};

/// Free reads with one reader join it whatever the template says: they only
/// replace an operand.
void BlockGrouper::absorbFreeReads() {
  SmallVector<Operation *> reads;
  for (Operation &op : block.without_terminator())
    if (isFreeToClone(&op) && op.hasOneUse())
      reads.push_back(&op);
  for (Operation *read : llvm::reverse(reads)) {
    Operation *user = *read->getUsers().begin();
    if (user->getBlock() == &block && graph.contains(user) &&
        absorbs(user, read))
      graph.merge(graph.groupOf(read), graph.groupOf(user));
  }
}

bool BlockGrouper::tryMerge(Id first, Id second) {
  if (first == second)
    return true;
  if (!graph.isBefore(first, second))
    std::swap(first, second);
  if (!canGroup(first) || !canGroup(second) || isGeneric(first) ||
      isGeneric(second))
    return false;
  SmallVector<Operation *> members = graph.unionOf(first, second);
  SmallVector<Value> results = GroupGraph::resultsOf(members);
  std::string whyNot;
  if (!templateFor(members, results, &whyNot))
    return false;
  if (graph.hasDetour(first, second))
    return false;
  graph.merge(first, second);
  return true;
}

void BlockGrouper::mergeAlongValues() {
  SmallVector<Operation *> operations;
  for (Operation &op : block.without_terminator())
    if (isGrouped(&op))
      operations.push_back(&op);
  for (Operation *op : operations) {
    // What the operation reads, itself or through reads it absorbed.
    SmallVector<Value> operands;
    SmallVector<Operation *> readers = {op};
    while (!readers.empty())
      for (Value operand : readers.pop_back_val()->getOperands())
        if (Operation *writer = operand.getDefiningOp();
            writer && graph.contains(writer)) {
          if (isFreeToClone(writer) &&
              graph.groupOf(writer) == graph.groupOf(op))
            readers.push_back(writer);
          else
            operands.push_back(operand);
        }
    SmallVector<std::pair<int64_t, unsigned>> largestFirst;
    for (auto [index, operand] : llvm::enumerate(operands))
      largestFirst.push_back({-storedBytes(operand.getType()), index});
    llvm::sort(largestFirst);
    for (auto [negatedBytes, index] : largestFirst)
      tryMerge(graph.groupOf(operands[index].getDefiningOp()),
               graph.groupOf(op));
  }
}

/// Column reductions that read the same value share the pass over it.
void BlockGrouper::mergeColumnSiblings() {
  llvm::MapVector<Value, SmallVector<Operation *>> readers;
  for (Operation &op : block.without_terminator())
    if (classify(&op) == OperationClass::reduction)
      for (Operation *member : graph.members(graph.groupOf(&op)))
        for (Value operand : member->getOperands())
          if (!operand.getDefiningOp() ||
              !graph.contains(operand.getDefiningOp()) ||
              graph.groupOf(operand.getDefiningOp()) != graph.groupOf(&op))
            readers[operand].push_back(&op);
  for (auto &[value, operations] : readers) {
    if (cast<RankedTensorType>(value.getType()).getNumElements() < 1024)
      continue;
    for (Operation *op : ArrayRef(operations).drop_front())
      tryMerge(graph.groupOf(operations.front()), graph.groupOf(op));
  }
}

void BlockGrouper::writeGroup(ArrayRef<Operation *> members) {
  SmallVector<Value> results = GroupGraph::resultsOf(members);
  Operation *generic = nullptr;
  for (Operation *op : members)
    if (classify(op) == OperationClass::generic)
      generic = op;
  step::GroupKind kind = step::GroupKind::generic;
  if (!generic) {
    std::string whyNot;
    std::optional<GroupShape> shape = templateFor(members, results, &whyNot);
    assert(shape && "a group no template emits was formed");
    kind = shape->kind;
  }

  llvm::SmallDenseSet<Operation *, 16> inside(members.begin(), members.end());
  llvm::SetVector<Value> inputs;
  for (Operation *op : members) {
    auto use = [&](Value value) {
      Operation *writer = value.getDefiningOp();
      if (!writer || !inside.contains(writer))
        inputs.insert(value);
    };
    for (Value operand : op->getOperands())
      use(operand);
    visitUsedValuesDefinedAbove(
        op->getRegions(), [&](OpOperand *operand) { use(operand->get()); });
  }

  SmallVector<Location> locations;
  for (Operation *op : members)
    if (!isFreeToClone(op))
      locations.push_back(op->getLoc());
  Location loc =
      locations.empty()
          ? members.front()->getLoc()
          : FusedLoc::get(block.getParentOp()->getContext(), locations);
  OpBuilder builder(block.getTerminator());
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  auto group =
      step::GroupOp::create(builder, loc, types, inputs.getArrayRef(), kind);
  Block *body = builder.createBlock(&group.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Operation *op : members)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  step::YieldOp::create(builder, loc, yielded);
  IRRewriter rewriter(builder);
  DominanceInfo dominance(group);
  eliminateCommonSubExpressions(rewriter, dominance, group);
  for (auto [from, to] : llvm::zip_equal(results, group.getOutputs()))
    from.replaceUsesWithIf(to, [&](OpOperand &use) {
      for (Operation *o = use.getOwner(); o; o = o->getParentOp())
        if (inside.contains(o))
          return false;
      return true;
    });
}

void BlockGrouper::writeGroups() {
  SmallVector<Operation *> replaced;
  for (Id id : graph.order()) {
    ArrayRef<Operation *> members = graph.members(id);
    // A lone view or scalar constant stays as it is; a lone constant tensor
    // that repeats one value is cheaper computed than stored.
    bool formsGroup = llvm::any_of(members, isGrouped) ||
                      (isSplatConstant(members.front()) &&
                       !isScalarConstant(members.front()));
    if (!formsGroup) {
      for (Operation *op : members)
        op->moveBefore(block.getTerminator());
      continue;
    }
    writeGroup(members);
    replaced.append(members.begin(), members.end());
  }
  for (Operation *op : llvm::reverse(replaced)) {
    op->dropAllUses();
    op->erase();
  }
}

struct FormGroups : public fusion::impl::FormGroupsPassBase<FormGroups> {
  using FormGroupsPassBase::FormGroupsPassBase;

  void runOnOperation() override { runOnRegion(getOperation().getBody()); }

  void runOnRegion(Region &region) {
    for (Block &block : region) {
      if (merge)
        cloneCheapFunctions(block);
      cloneFreeReads(block);
      for (Operation &op : block)
        if (isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
          for (Region &nested : op.getRegions())
            runOnRegion(nested);
      BlockGrouper(block, merge).run();
    }
  }
};

} // namespace
