//===- Meetings.cpp - Do all devices come to a collective? ----------------===//
//
// Whether all devices come to every collective, in the same order.
//
//===----------------------------------------------------------------------===//

#include "PartitionChecker.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

bool shardingcheck::waitsForOthers(Operation *op) {
  return op->hasAttr("replica_groups") || op->hasAttr("source_target_pairs");
}

bool PartitionChecker::checkMeetings() {
  auto module = local->getParentOfType<ModuleOp>();
  return !module
              .walk([&](Operation *op) {
                return !waitsForOthers(op) || meets(op)
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

bool PartitionChecker::meets(Operation *op) {
  std::string name = ("'" + op->getName().getStringRef() + "'").str();
  Operation *around = op->getParentOp();
  while (around && isControl(around))
    around = around->getParentOp();
  if (around != local)
    return fail(op->getLoc(), name + " stands outside of @main and its loops "
                                     "and branches, where the check does not "
                                     "see which devices come to it");
  if (auto permute = dyn_cast<stablehlo::CollectivePermuteOp>(op))
    return sourcesOf(permute) ||
           fail(op->getLoc(), name + " has to name each of the " +
                                  Twine(devices) +
                                  " devices once as a source and once as a "
                                  "target, with a channel above 0");
  if (!isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp,
           stablehlo::AllToAllOp, stablehlo::ReduceScatterOp>(op))
    return fail(op->getLoc(),
                name + " is no collective that a partitioned step may have");
  if (!groupsOf(op, devices))
    return fail(op->getLoc(),
                name + " has to have each of the " + Twine(devices) +
                    " devices in one of its groups, with a channel above 0 "
                    "and global device ids, or some devices wait for ever");
  return true;
}

std::optional<Groups> shardingcheck::groupsOf(Operation *op, int64_t devices) {
  auto table = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  auto channel =
      op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
  bool needsFlag = !isa<stablehlo::AllToAllOp>(op);
  if (!table || table.getType().getRank() != 2 || !channel ||
      channel.getHandle() <= 0 ||
      (needsFlag && !op->hasAttr("use_global_device_ids")))
    return std::nullopt;
  Groups groups(table.getType().getShape()[0]);
  SmallVector<bool> seen(devices);
  auto values = table.getValues<APInt>();
  int64_t size = table.getType().getShape()[1];
  if (groups.empty() || size == 0 || int64_t(groups.size()) * size != devices)
    return std::nullopt;
  for (auto [at, value] : llvm::enumerate(values)) {
    int64_t device = value.getSExtValue();
    if (device < 0 || device >= devices || seen[device])
      return std::nullopt;
    seen[device] = true;
    groups[int64_t(at) / size].push_back(device);
  }
  return groups;
}

std::optional<SmallVector<int64_t>>
PartitionChecker::sourcesOf(stablehlo::CollectivePermuteOp op) {
  SmallVector<int64_t> sources(devices, -1);
  SmallVector<bool> sends(devices);
  auto pairs = op.getSourceTargetPairs();
  if (pairs.getNumElements() != 2 * devices || !op.getChannelHandle() ||
      op.getChannelHandle()->getHandle() <= 0)
    return std::nullopt;
  SmallVector<int64_t> values;
  for (const APInt &value : pairs.getValues<APInt>())
    values.push_back(value.getSExtValue());
  for (size_t at = 0; at < values.size(); at += 2) {
    int64_t from = values[at], to = values[at + 1];
    if (from < 0 || to < 0 || from >= devices || to >= devices ||
        sources[to] >= 0 || sends[from])
      return std::nullopt;
    sources[to] = from;
    sends[from] = true;
  }
  return sources;
}
