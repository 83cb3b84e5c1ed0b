//===- BlockGrouper.cpp - Merge the operations of a block into groups ----===//
//
// See BlockGrouper.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/BlockGrouper.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/GroupLegality.h"
#include "tenon/Fusion/JoinGroups.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

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

/// A value is large to one that picks from it if it has as many times the bytes
/// of what is picked. Slices that share a tensor between them are no picks.
constexpr int64_t leastPerPick = 64;

bool readsAny(ArrayRef<Operation *> operations, Value value) {
  return llvm::any_of(operations, [&](Operation *op) {
    return llvm::is_contained(op->getOperands(), value);
  });
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

/// Whether a kernel may hold the operation.
bool mayBeInKernel(Operation *op) {
  return isGrouped(op) || isSplatConstant(op) ||
         classify(op) == OperationClass::view;
}

/// Whether a scatter begins with the number that a constant repeats. A GPU's
/// kernel writes each element of its result once, so it reads no memory for
/// that; a processor's updates the constant's memory in place.
bool isStartOfScatter(Operation *user, Operation *read) {
  auto scatter = dyn_cast<stablehlo::ScatterOp>(user);
  return scatter && isSplatConstant(read) &&
         llvm::is_contained(scatter.getInputs(), read->getResult(0));
}

} // namespace

bool fusion::absorbs(Operation *user, Operation *read, bool onGpu) {
  switch (classify(user)) {
  case OperationClass::pointwise:
  case OperationClass::indexMap:
  case OperationClass::reduction:
    return true;
  case OperationClass::generic:
    if (isCollective(user))
      return false; // what is sent lies in memory
    return isScalarConstant(read) || (onGpu && isStartOfScatter(user, read)) ||
           (widensStored(read) && canWidenOperands(user));
  case OperationClass::view:
  case OperationClass::ungrouped:
    return false;
  }
  return false;
}

const char *BlockGrouper::whyAlone(Id group) {
  auto [entry, isNew] = alone.try_emplace(group, nullptr);
  if (!isNew)
    return entry->second;
  ArrayRef<Operation *> members = graph.members(group);
  if (!llvm::all_of(members, mayBeInKernel))
    entry->second = "one of them is no kernel";
  else if (llvm::any_of(members, [](Operation *op) {
             return classify(op) == OperationClass::generic;
           }))
    entry->second = "one of them has a kernel of its own";
  return entry->second;
}

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
        absorbs(user, read, machine.isGpu()))
      graph.merge(graph.groupOf(read), graph.groupOf(user));
  }
}

cost::KernelWork BlockGrouper::workOf(Id group) {
  auto [entry, isNew] = works.try_emplace(group);
  if (isNew)
    entry->second = kernels.workOf(graph.memberNumbers(group));
  return entry->second;
}

/// All three kernels are charged for their bytes at the rate of the one that
/// moves most: that a value just fits a cache must not decide.
BlockGrouper::Prediction BlockGrouper::predict(const cost::KernelWork &first,
                                               const cost::KernelWork &second,
                                               const cost::KernelWork &both) {
  const target::Rate &bandwidth = cost::bandwidthOf(
      std::max({both.bytes, first.bytes, second.bytes}), machine);
  auto seconds = [&](const cost::KernelWork &work) {
    return cost::secondsOf(work, bandwidth, machine);
  };
  return {seconds(both), seconds(first) + seconds(second)};
}

/// "12.34 us in one kernel, 23.45 us in two".
std::string BlockGrouper::predictionText(const Prediction &seconds) {
  return llvm::formatv("{0:f2} us in one kernel, {1:f2} us in two",
                       seconds.together * 1e6, seconds.apart * 1e6)
      .str();
}

bool BlockGrouper::isReadAtOnce(double bytes) const {
  return bytes <
         cost::startSeconds(/*parts=*/2, machine) * machine.memory.copy.oneCore;
}

bool BlockGrouper::picksTooLate(Id first, Id second) const {
  for (Operation *op : graph.members(first)) {
    if (!isa<stablehlo::GatherOp, stablehlo::SliceOp,
             stablehlo::DynamicSliceOp>(op))
      continue;
    Operation *writer = op->getOperand(0).getDefiningOp();
    const int64_t bytes = storedBytes(op->getOperand(0).getType());
    if (!writer || !graph.contains(writer) || isReadAtOnce(bytes) ||
        storedBytes(op->getResult(0).getType()) * leastPerPick > bytes)
      continue;
    llvm::SmallSetVector<Id, 8> others;
    graph.forEachReader(graph.groupOf(writer), [&](Id other) {
      if (other != first && other != second)
        others.insert(other);
    });
    for (Id other : others)
      if (readsAny(graph.members(other), op->getOperand(0)) &&
          graph.hasPath(other, second) && !graph.hasPath(other, first))
        return true;
  }
  return false;
}

bool BlockGrouper::mayMerge(Id first, Id second, Candidate &candidate,
                            std::string *whyNot) {
  auto refuse = [&](const char *reason) {
    if (whyNot)
      *whyNot = reason;
    return false;
  };
  for (Id group : {first, second})
    if (const char *reason = whyAlone(group))
      return refuse(reason);
  std::optional<cost::KernelWork> both =
      kernels.workIfLegal(graph.unionOf(first, second), whyNot);
  if (!both)
    return false;
  if (graph.hasDetour(first, second))
    return refuse("something between them needs the one and is needed by the "
                  "other");
  if (picksTooLate(first, second))
    return refuse("what the one picks from could not be overwritten by a "
                  "kernel that the other needs");
  candidate.work = *both;
  candidate.seconds = predict(workOf(first), workOf(second), *both);
  if (candidate.seconds.together <= candidate.seconds.apart)
    return true;
  if (whyNot)
    *whyNot = "predicted to take " + predictionText(candidate.seconds);
  return false;
}

void BlockGrouper::tryMerge(Operation *writer, Operation *reader,
                            double leastSaved) {
  Id first = graph.groupOf(writer), second = graph.groupOf(reader);
  if (first == second)
    return;
  if (!graph.isBefore(first, second))
    std::swap(first, second);
  std::pair sizes(graph.members(first).size(), graph.members(second).size());
  auto known = apart.find({first, second});
  if (known != apart.end() && known->second == sizes)
    return;
  Candidate candidate;
  if (!mayMerge(first, second, candidate)) {
    apart[{first, second}] = sizes;
    return;
  }
  if (candidate.seconds.together + leastSaved > candidate.seconds.apart)
    return;
  works.erase(second);
  works[graph.merge(first, second)] = candidate.work;
  merges.push_back({writer, reader, candidate.seconds});
}

SmallVector<Value> BlockGrouper::operandsOf(Operation *op) const {
  SmallVector<Value> operands;
  SmallVector<Operation *> readers = {op};
  auto copiedFor = recomputed.readerOf.find(op);
  while (!readers.empty())
    for (Value operand : readers.pop_back_val()->getOperands()) {
      Operation *writer = operand.getDefiningOp();
      if (!writer || !graph.contains(writer))
        continue;
      if (isFreeToClone(writer) && graph.groupOf(writer) == graph.groupOf(op)) {
        readers.push_back(writer);
        continue;
      }
      // A recomputed operation stays with the reader it was copied for.
      if (copiedFor != recomputed.readerOf.end()) {
        auto writerCopiedFor = recomputed.readerOf.find(writer);
        if (writerCopiedFor == recomputed.readerOf.end() ||
            writerCopiedFor->second != copiedFor->second)
          continue;
      }
      operands.push_back(operand);
    }
  return operands;
}

bool BlockGrouper::isSmall(Id group) {
  const ArrayRef<Operation *> members = graph.members(group);
  auto &[count, isKnownSmall] = small[group];
  // Groups only grow, and what is not small stays so.
  if (count == members.size() || (count > 0 && !isKnownSmall))
    return isKnownSmall;
  count = members.size();
  auto isAtOnce = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || isReadAtOnce(storedBytes(tensor));
  };
  isKnownSmall = llvm::all_of(members, [&](Operation *op) {
    return llvm::all_of(op->getOperandTypes(), isAtOnce) &&
           llvm::all_of(op->getResultTypes(), isAtOnce);
  });
  return isKnownSmall;
}

bool BlockGrouper::keepsOthersWaiting(Operation *writer, Operation *reader) {
  Id from = graph.groupOf(writer), to = graph.groupOf(reader);
  if (from == to || !isSmall(from))
    return false;
  llvm::SmallSetVector<Id, 8> needed;
  graph.forEachWriter(to, [&](Id other) {
    if (other != from)
      needed.insert(other);
  });
  // Nothing joins a library's product, so it does not matter what waits for it.
  auto mayBeJoined = [&](Id other) {
    return llvm::all_of(graph.members(other), [](Operation *op) {
      return mayBeInKernel(op) && classify(op) != OperationClass::generic;
    });
  };
  if (llvm::none_of(needed, [&](Id other) {
        return mayBeJoined(other) && !isSmall(other) &&
               !graph.hasPath(other, from);
      }))
    return false;
  auto waits = [&](Operation *user) {
    Operation *top = block.findAncestorOpInBlock(*user);
    if (!top || !graph.contains(top))
      return false;
    Id other = graph.groupOf(top);
    return other != from && other != to && !graph.hasPath(to, other);
  };
  return llvm::any_of(graph.members(from), [&](Operation *op) {
    return llvm::any_of(op->getUsers(), waits);
  });
}

void BlockGrouper::mergeAlongValues() {
  SmallVector<Operation *> operations;
  for (Operation &op : block.without_terminator())
    if (isGrouped(&op))
      operations.push_back(&op);
  // What would bring others into an order comes last: the weights of a loss and
  // its terms are summed up in one kernel only if the gradient, which needs the
  // sum of the weights alone, is not computed where the terms are.
  SmallVector<std::pair<Operation *, Operation *>> deferred;
  for (Operation *op : operations) {
    // What an absorbed read reads counts as read by the one that absorbed it.
    if (isFreeToClone(op) && graph.members(graph.groupOf(op)).size() > 1)
      continue;
    SmallVector<Value> operands = operandsOf(op);
    SmallVector<std::pair<int64_t, unsigned>> largestFirst;
    for (auto [index, operand] : llvm::enumerate(operands))
      largestFirst.push_back({-storedBytes(operand.getType()), index});
    llvm::sort(largestFirst);
    for (auto [negatedBytes, index] : largestFirst) {
      Operation *writer = operands[index].getDefiningOp();
      if (keepsOthersWaiting(writer, op))
        deferred.push_back({writer, op});
      else
        tryMerge(writer, op);
    }
  }
  for (auto [writer, reader] : deferred)
    tryMerge(writer, reader);
}

/// Column reductions that read the same value share the pass over it. That must
/// save more than a launch: kernels that need nothing of each other can still
/// be started together after they have been ordered, and until then each is
/// free to run when it frees most.
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
  double launch = cost::startSeconds(/*parts=*/2, machine);
  for (auto &[value, operations] : readers) {
    if (isReadAtOnce(storedBytes(value.getType())))
      continue;
    for (Operation *op : ArrayRef(operations).drop_front())
      tryMerge(operations.front(), op, /*leastSaved=*/2 * launch);
  }
}

void BlockGrouper::mergeGroups() {
  mergeAlongValues();
  mergeColumnSiblings();
}

void BlockGrouper::explain() {
  auto summary = remark::analysis(
      block.getParentOp()->getLoc(),
      remark::RemarkOpts::name("Groups").category("fusion-form-groups"));
  if (!summary)
    return; // looking for reasons takes as long as grouping
  SmallVector<Id> order = graph.executionOrder();
  summary << remark::add("{0} operations in {1} groups",
                         llvm::range_size(block.without_terminator()),
                         order.size());
  for (const Merge &merge : merges)
    remark::passed(
        merge.reader->getLoc(),
        remark::RemarkOpts::name("Grouped").category("fusion-form-groups"))
        << remark::add("{0} joins {1}: predicted to take {2}",
                       merge.reader->getName().getStringRef(),
                       merge.writer->getName().getStringRef(),
                       predictionText(merge.seconds));
  llvm::DenseSet<std::pair<Id, Id>> explained;
  for (Id reader : order)
    for (Operation *op : graph.members(reader)) {
      if (!isGrouped(op))
        continue;
      for (Value operand : operandsOf(op)) {
        Operation *writer = operand.getDefiningOp();
        Id from = graph.groupOf(writer);
        if (from == reader || !isGrouped(writer) ||
            !explained.insert({from, reader}).second)
          continue;
        Candidate candidate;
        std::string reason;
        if (!mayMerge(from, reader, candidate, &reason))
          remark::missed(op->getLoc(), remark::RemarkOpts::name("NotGrouped")
                                           .category("fusion-form-groups"))
              << remark::add("{0} reads the result of {1} from memory ({2} "
                             "bytes): {3}",
                             op->getName().getStringRef(),
                             writer->getName().getStringRef(),
                             storedBytes(operand.getType()), reason);
      }
    }
}

/// Leaves one of the results that turned out equal, replacing the group, and
/// returns where each result is now.
static SmallVector<unsigned> mergeEqualResults(step::GroupOp &group) {
  auto yield = cast<step::YieldOp>(group.getBody().front().getTerminator());
  llvm::MapVector<Value, unsigned> distinct;
  SmallVector<unsigned> indices;
  for (Value value : yield.getValues())
    indices.push_back(
        distinct.insert({value, unsigned(distinct.size())}).first->second);
  if (distinct.size() == indices.size())
    return indices;
  SmallVector<Value> values;
  for (auto &[value, index] : distinct)
    values.push_back(value);
  step::GroupOp smaller = withResults(group, values);
  group.erase();
  group = smaller;
  return indices;
}

namespace {

/// Copies the members of a group into its body, equal ones once.
class BodyWriter {
public:
  BodyWriter(OpBuilder &builder, IRMapping &mapping)
      : builder(builder), mapping(mapping) {}

  /// Operations of the same content differ in nothing but what they read and
  /// what is noted on them.
  void add(Operation *op, unsigned content);
  /// Whether something may be left to merge or erase: in regions, say.
  bool isRough() const { return rough; }

private:
  bool isEqual(Operation *op, Operation *copy) const;

  OpBuilder &builder;
  IRMapping &mapping;
  llvm::DenseMap<unsigned, SmallVector<Operation *, 2>> copies; // by content
  bool rough = false;
};

bool BodyWriter::isEqual(Operation *op, Operation *copy) const {
  if (op->getDiscardableAttrDictionary() !=
      copy->getDiscardableAttrDictionary())
    return false;
  SmallVector<Value> reads =
      llvm::map_to_vector(op->getOperands(), [&](Value value) {
        return mapping.lookupOrDefault(value);
      });
  const OperandRange there = copy->getOperands();
  return llvm::equal(reads, there) ||
         (op->hasTrait<OpTrait::IsCommutative>() &&
          std::is_permutation(reads.begin(), reads.end(), there.begin(),
                              there.end()));
}

void BodyWriter::add(Operation *op, unsigned content) {
  SmallVector<Operation *, 2> &known = copies[content];
  rough |= op->use_empty() || (op->getNumRegions() && !known.empty()) ||
           !llvm::all_of(op->getRegions(), [](Region &region) {
             return llvm::all_of(region, [](Block &block) {
               return llvm::hasNItemsOrLess(block, 2);
             });
           });
  auto same =
      llvm::find_if(known, [&](Operation *copy) { return isEqual(op, copy); });
  if (same == known.end() || op->getNumRegions()) {
    known.push_back(builder.clone(*op, mapping));
    return;
  }
  mapping.map(op->getResults(), (*same)->getResults());
  if (isa<UnknownLoc>((*same)->getLoc()))
    (*same)->setLoc(op->getLoc());
}

} // namespace

void BlockGrouper::writeGroup(Id id) {
  ArrayRef<Operation *> members = graph.members(id);
  SmallVector<Value> results = GroupGraph::resultsOf(members);
  Operation *generic = nullptr;
  for (Operation *op : members)
    if (classify(op) == OperationClass::generic)
      generic = op;
  step::GroupKind kind = generic && isCollective(generic)
                             ? step::GroupKind::collective
                             : step::GroupKind::generic;
  if (!generic) {
    std::string whyNot;
    auto formed = kindOf({members, results}, &whyNot);
    assert(formed && "a group no template emits was formed");
    kind = *formed;
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
  BodyWriter writer(builder, mapping);
  for (auto [op, number] : llvm::zip_equal(members, graph.memberNumbers(id)))
    writer.add(op, kernels.contentOf(number));
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(mapping.lookup(result));
  step::YieldOp::create(builder, loc, yielded);
  if (writer.isRough()) {
    IRRewriter rewriter(builder);
    DominanceInfo dominance(group);
    eliminateCommonSubExpressions(rewriter, dominance, group);
  }
  SmallVector<unsigned> indices = mergeEqualResults(group);
  for (auto [from, index] : llvm::zip_equal(results, indices))
    from.replaceUsesWithIf(group.getOutputs()[index], [&](OpOperand &use) {
      for (Operation *o = use.getOwner(); o; o = o->getParentOp())
        if (inside.contains(o))
          return false;
      return true;
    });
}

void BlockGrouper::writeGroups() {
  SmallVector<Operation *> replaced;
  for (Id id : graph.executionOrder()) {
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
    writeGroup(id);
    replaced.append(members.begin(), members.end());
  }
  for (Operation *op : llvm::reverse(replaced)) {
    op->dropAllUses();
    op->erase();
  }
}
