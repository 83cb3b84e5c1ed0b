//===- Fold.cpp - Devices of an axis, and the ranks that run them ---------===//
//
// See Fold.h.
//
//===----------------------------------------------------------------------===//

#include "Fold.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include <set>

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;
using Groups = SmallVector<SmallVector<int64_t>>;

static bool isPermute(Operation *op) {
  return isa<stablehlo::CollectivePermuteOp>(op);
}

static StringRef groupsName(Operation *op) {
  return isPermute(op) ? "source_target_pairs" : "replica_groups";
}

static Groups groupsOf(Operation *op) {
  auto table = cast<DenseIntElementsAttr>(op->getAttr(groupsName(op)));
  const int64_t size = cast<RankedTensorType>(table.getType()).getDimSize(1);
  Groups groups;
  for (auto [at, device] : llvm::enumerate(table.getValues<APInt>())) {
    if (int64_t(at) % size == 0)
      groups.emplace_back();
    groups.back().push_back(device.getSExtValue());
  }
  return groups;
}

Along tenon::sharding::alongOf(Operation *op, const Fold &fold) {
  Groups groups = groupsOf(op);
  std::set<SmallVector<int64_t>> found(groups.begin(), groups.end());
  auto sharesPlace = [&](ArrayRef<int64_t> group) {
    return llvm::all_of(group, [&](int64_t device) {
      return fold.coordinate(device) == fold.coordinate(group.front());
    });
  };
  if (llvm::all_of(groups, sharesPlace)) {
    // The devices at every place along the axis do the same.
    const int64_t stride = fold.devices.stride(fold.axis);
    for (SmallVector<int64_t> group : groups) {
      const int64_t next =
          (fold.coordinate(group.front()) + 1) % fold.axis.size;
      for (int64_t &device : group)
        device += (next - fold.coordinate(device)) * stride;
      if (!found.contains(group))
        return Along::both;
    }
    return Along::others;
  }
  Groups axis = fold.devices.groupsAlong({fold.axis});
  return !isPermute(op) && found == std::set<SmallVector<int64_t>>(axis.begin(),
                                                                   axis.end())
             ? Along::axis
             : Along::both;
}

void tenon::sharding::setGroups(Operation *made, Operation *op,
                                const Fold &fold) {
  Groups groups;
  if (alongOf(op, fold) == Along::axis)
    groups = fold.ranks.groupsAlong({fold.rankAxis()});
  else
    for (int64_t place = 0; place < fold.rankAxis().size; ++place)
      for (ArrayRef<int64_t> group : groupsOf(op))
        if (fold.coordinate(group.front()) == 0)
          groups.push_back(llvm::map_to_vector(group, [&](int64_t device) {
            return fold.rankAt(device, place);
          }));
  SmallVector<int64_t> numbers;
  for (ArrayRef<int64_t> group : groups)
    llvm::append_range(numbers, group);
  auto type = RankedTensorType::get(
      {int64_t(groups.size()), int64_t(groups.front().size())},
      IntegerType::get(op->getContext(), 64));
  made->setAttr(groupsName(op), DenseIntElementsAttr::get(type, numbers));
}
