//===- Constraints.cpp - Do values lie as their author wrote? -------------===//
//
// A constraint of the whole step says how a value lies on the mesh. It is kept
// if some local tensor of the partitioned step holds the value so, with nothing
// pending, and if one way to lie is found for all values of a group. Where
// readers have the value moved on to, is for them to say.
//
// What nobody reads is not computed, and constants are made where they are
// read: there is nothing to find.
//
//===----------------------------------------------------------------------===//

#include "PartitionChecker.h"

#include "tenon/Sharding/Passes.h"

#include "mlir/IR/Iterators.h"
#include "llvm/ADT/DenseSet.h"

#include <set>

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

namespace {

/// Operations that some result of the step depends on.
llvm::DenseSet<Operation *> readOperations(func::FuncOp step) {
  llvm::DenseSet<Operation *> read;
  step.walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
    const bool isThere = op == step || read.contains(op->getParentOp());
    if (isThere && (op == step || op->hasTrait<OpTrait::IsTerminator>() ||
                    llvm::any_of(op->getUsers(), [&](Operation *user) {
                      while (user && user->getParentRegion() &&
                             user->getParentRegion() != op->getParentRegion())
                        user = user->getParentOp();
                      return read.contains(user);
                    })))
      read.insert(op);
  });
  return read;
}

bool isMadeAnywhere(Value value) {
  Operation *op = value.getDefiningOp();
  // What only moves elements that are made anywhere is, too.
  while (op && isView(op) && op->getNumOperands() == 1 &&
         !isa<stablehlo::BroadcastInDimOp>(op))
    op = op->getOperand(0).getDefiningOp();
  if (auto repeat = dyn_cast_or_null<stablehlo::BroadcastInDimOp>(op))
    return elementCount(shapeOf(repeat.getOperand())) == 1;
  return isa_and_nonnull<stablehlo::ConstantOp, stablehlo::IotaOp>(op);
}

} // namespace

std::vector<PartitionChecker::Lying> PartitionChecker::waysToLie(Value value) {
  std::vector<Lying> ways;
  // What is known may be known of what the value is a view of.
  SmallVector<Value> origins{value};
  while (Operation *op = origins.back().getDefiningOp()) {
    if (!isView(op))
      break;
    origins.push_back(
        op->getOperand(isa<stablehlo::OptimizationBarrierOp>(op)
                           ? cast<OpResult>(origins.back()).getResultNumber()
                           : 0));
  }
  llvm::DenseSet<Value> seen;
  for (Value origin : origins)
    for (Value part : partsOf.lookup(origin)) {
      if (!seen.insert(part).second ||
          shapeOf(part).size() != shapeOf(value).size())
        continue;
      for (const Holding &held : holdingsOn(part, value)) {
        auto ranges = blockOf(held);
        if (held.isPending() || !ranges)
          continue;
        Lying way;
        for (auto [range, extent] : llvm::zip_equal(*ranges, shapeOf(part)))
          way.push_back({range.start, extent});
        ways.push_back(std::move(way));
      }
    }
  return ways;
}

bool PartitionChecker::isAllowed(const Lying &way,
                                 const sharding::AskedLayout &asked,
                                 ArrayRef<int64_t> shape) {
  for (auto [dim, parts] : llvm::enumerate(asked.layout.dims)) {
    const auto &[start, extent] = way[dim];
    const int64_t asksFor = sharding::countOf(parts);
    const int64_t most = sharding::shardExtent(shape[dim], asksFor);
    if (extent > most || (extent < most && !asked.isOpen(dim)))
      return false;
    if (!start || extent == 0)
      continue; // all elements are alike
    const PerDevice shards = shardsOf(*start, extent);
    // A dimension that is cut further has so many shards in each of those that
    // are asked for.
    const int64_t each =
        int64_t(std::set<int64_t>(shards.begin(), shards.end()).size()) /
        asksFor;
    for (int64_t device = 0; device < devices; ++device) {
      if (each == 0 || shards[device] / each != mesh.indexAlong(device, parts))
        return false;
      // Along what is replicated all devices have what the first one has.
      int64_t first = device;
      for (const sharding::AxisPart &part : asked.replicated)
        first -= mesh.coordinate(device, part) * mesh.stride(part);
      if (shards[device] != shards[first])
        return false;
    }
  }
  return true;
}

bool PartitionChecker::areAlike(const Lying &a, const Lying &b) {
  if (a.size() != b.size())
    return false;
  for (auto [one, other] : llvm::zip_equal(a, b))
    if (one.first && other.first && one.second > 0 && other.second > 0 &&
        shardsOf(*one.first, one.second) !=
            shardsOf(*other.first, other.second))
      return false;
  return true;
}

bool PartitionChecker::checkConstraints() {
  SmallVector<step::ShardingConstraintOp> constraints;
  whole.walk([&](step::ShardingConstraintOp op) { constraints.push_back(op); });
  if (constraints.empty())
    return true;
  auto asked = sharding::readAskedLayouts(whole->getParentOfType<ModuleOp>(),
                                          mesh, /*text=*/"", /*fileName=*/"");
  if (failed(asked))
    return fail(whole.getLoc(), "the constraints of the whole step cannot be "
                                "read");
  for (const auto &[part, holdings] : known)
    for (const Holding &held : holdings)
      partsOf[held.whole].push_back(part);
  const llvm::DenseSet<Operation *> read = readOperations(whole);
  auto isWritten = [&](step::ShardingConstraintOp op) {
    return read.contains(op) && !isMadeAnywhere(op.getInput());
  };
  for (step::ShardingConstraintOp op : constraints) {
    auto found = asked->constraints.find(op.getResult());
    if (found == asked->constraints.end() || !isWritten(op))
      continue;
    if (llvm::none_of(waysToLie(op.getResult()), [&](const Lying &way) {
          return isAllowed(way, found->second, shapeOf(op.getResult()));
        }))
      return fail(op.getLoc(),
                  "nothing in the partitioned step lies as this constraint "
                  "says: " +
                      found->second.layout.text(mesh));
  }
  for (ArrayRef<Value> group : asked->groups) {
    std::optional<std::vector<Lying>> common;
    for (Value member : group) {
      if (!isWritten(member.getDefiningOp<step::ShardingConstraintOp>()))
        continue;
      std::vector<Lying> ways = waysToLie(member);
      if (!common)
        common = ways;
      std::erase_if(*common, [&](const Lying &way) {
        return llvm::none_of(
            ways, [&](const Lying &own) { return areAlike(way, own); });
      });
      if (common->empty())
        return fail(member.getLoc(), "the values of this sharding group do not "
                                     "lie alike in the partitioned step");
    }
  }
  return true;
}

PerDevice PartitionChecker::shardsOf(PerDevice start, int64_t extent) {
  for (int64_t &at : start)
    at /= extent;
  return start;
}
