//===- KnownHoldings.cpp - What is known of local tensors -----------------===//
//
// What is known of a local tensor: what was found for it, and what follows for
// tensors of the whole step that are others with their elements moved.
//
//===----------------------------------------------------------------------===//

#include "Identities.h"
#include "PartitionChecker.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

void PartitionChecker::add(Value part, Holding held) {
  if (held.dims.size() != shapeOf(part).size())
    return;
  forgetOnlyPlaces(held);
  known[part].push_back(std::move(held));
}

void PartitionChecker::forgetOnlyPlaces(Holding &held) {
  for (auto [dim, base] : llvm::enumerate(held.base)) {
    auto isOf = [&, dim = dim](const Digit &digit) {
      return digit.of == int(dim);
    };
    if (shapeOf(held.whole)[dim] == 1 && base &&
        llvm::all_of(*base, [](int64_t at) { return at == 0; }) &&
        llvm::none_of(held.dims, [&](const Digits &digits) {
          return llvm::any_of(digits, isOf);
        }))
      base.reset();
  }
}

void PartitionChecker::addIfNew(Value value, Holding held) {
  forgetOnlyPlaces(held);
  auto stored = known.find(value);
  if (stored == known.end() || llvm::none_of(stored->second, [&](auto &other) {
        return isAlike(other, held);
      }))
    add(value, std::move(held));
}

bool PartitionChecker::isAlike(const Holding &a, const Holding &b) {
  return a.whole == b.whole && a.dims == b.dims && a.base == b.base &&
         a.share == b.share && a.shares == b.shares && a.combine == b.combine &&
         a.missing == b.missing;
}

Holdings PartitionChecker::holdingsOn(Value part, Value value) {
  Holdings found;
  if (elementOf(part) != elementOf(value))
    return found;
  if (auto stored = known.find(part); stored != known.end())
    for (const Holding &held : stored->second)
      if (held.whole == value)
        found.push_back(held);
  if (auto mask = masks.find(part); mask != masks.end())
    addMasked(mask->second, value, found);
  Attribute element = splatOf(value);
  if (element && element == splatOf(part))
    found.push_back(anything(value, shapeOf(value), shapeOf(part), devices));
  Operation *op = value.getDefiningOp();
  if (!op)
    return found;
  if (auto iota = dyn_cast<stablehlo::IotaOp>(op)) {
    if (auto number = numbers.find(part); number != numbers.end()) {
      Holding held = number->second;
      int dim = int(iota.getIotaDimension());
      held.whole = value;
      held.base.assign(shapeOf(value).size(), std::nullopt);
      held.tail.assign(shapeOf(value).size(), 0);
      held.base[dim] = number->second.base[0];
      for (Digits &digits : held.dims)
        for (Digit &digit : digits)
          if (digit.of != repeats)
            digit.of = dim;
      found.push_back(std::move(held));
    }
  } else if (isView(op)) {
    unsigned at = isa<stablehlo::OptimizationBarrierOp>(op)
                      ? cast<OpResult>(value).getResultNumber()
                      : 0;
    Value from = op->getOperand(at);
    for (const Holding &held : holdingsOn(part, from))
      for (const Holding &placed :
           isa<stablehlo::ReshapeOp>(op)
               ? withPlaces(held, shapeOf(from), shapeOf(value),
                            [&](int64_t parts) { return spreadsOver(parts); })
               : SmallVector<Holding>{held})
        if (auto moved = through(op, at, placed)) {
          forgetOnlyPlaces(*moved);
          found.push_back(std::move(*moved));
        }
  }
  return found;
}

ArrayRef<PerDevice> PartitionChecker::spreadsOver(int64_t parts) {
  auto [found, isNew] = spreads.try_emplace(parts);
  if (!isNew)
    return found->second;
  // Along some of the axes, in their order.
  const size_t axes = mesh.axes.size();
  for (uint64_t set = 1; axes < 16 && set < uint64_t(1) << axes; ++set) {
    sharding::AxisParts along;
    int64_t count = 1;
    for (unsigned axis = 0; axis < axes; ++axis)
      if (set >> axis & 1) {
        along.push_back({axis, 1, mesh.axes[axis].size});
        count *= mesh.axes[axis].size;
      }
    if (count != parts)
      continue;
    PerDevice numbers(devices);
    for (int64_t device = 0; device < devices; ++device)
      numbers[device] = mesh.indexAlong(device, along);
    found->second.push_back(std::move(numbers));
  }
  return found->second;
}

std::optional<Holding> PartitionChecker::through(Operation *op, unsigned at,
                                                 const Holding &held) {
  Value to = op->getResult(at);
  // What is missing is no such view.
  if (held.missing)
    return std::nullopt;
  if (isa<stablehlo::OptimizationBarrierOp, step::ShardingConstraintOp>(op)) {
    Holding same = held;
    same.whole = to;
    return same;
  }
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), shape = shapeOf(to);
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op))
    return ofTransposed(held, to, transpose.getPermutation());
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op))
    return ofSliced(held, to, slice.getStartIndices(), slice.getStrides());
  if (auto repeat = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return ofBroadcast(held, to, from, repeat.getBroadcastDimensions(), shape);
  return ofReshaped(held, to, from, shape);
}

void PartitionChecker::addMasked(const Mask &mask, Value value,
                                 Holdings &found) {
  for (const Holding &held : holdingsOn(mask.from, value)) {
    auto ranges = blockOf(held);
    if (!ranges || held.isPending())
      continue;
    Range &range = (*ranges)[mask.dim];
    const int64_t whole = shapeOf(value)[mask.dim];
    const int64_t extent = shapeOf(mask.from)[mask.dim];
    // Where all elements are alike, it is the mask that says which they are.
    if (!range.start) {
      range.start = PerDevice(devices);
      for (int64_t device = 0; device < devices; ++device)
        (*range.start)[device] =
            mask.end ? whole - (*mask.end)[device] : -(*mask.begin)[device];
    }
    auto within = [&](int64_t at) {
      return std::clamp<int64_t>(at, 0, extent);
    };
    bool masksOutside = true;
    for (int64_t device = 0; device < devices; ++device) {
      const int64_t start = (*range.start)[device];
      masksOutside &=
          within(mask.begin ? (*mask.begin)[device] : 0) == within(-start) &&
          within(mask.end ? (*mask.end)[device] : extent) ==
              within(whole - start);
    }
    if (!masksOutside)
      continue;
    range.tail = mask.identities;
    for (auto [dim, other] : llvm::enumerate(*ranges))
      if (int64_t(dim) != mask.dim)
        other.tail &= mask.identities;
    found.push_back(holdingOf(value, shapeOf(mask.from), *ranges));
  }
}

SmallVector<Value> PartitionChecker::viewsOf(ArrayRef<Holding> held) {
  llvm::SetVector<Value> views;
  for (const Holding &one : held)
    views.insert(one.whole);
  for (size_t at = 0; at < views.size(); ++at)
    for (OpOperand &use : views[at].getUses()) {
      Operation *user = use.getOwner();
      if (isa<stablehlo::OptimizationBarrierOp>(user))
        views.insert(user->getResult(use.getOperandNumber()));
      else if (isView(user))
        views.insert(user->getResult(0));
    }
  return views.takeVector();
}

SmallVector<Operation *> PartitionChecker::candidatesFor(Operation *op) {
  llvm::SetVector<Operation *> found;
  bool hasOrigin = false;
  for (Value operand : op->getOperands()) {
    Value origin = operand;
    while (masks.contains(origin))
      origin = masks.find(origin)->second.from;
    auto stored = known.find(origin);
    if (stored == known.end() || stored->second.empty())
      continue;
    hasOrigin = true;
    for (Value view : viewsOf(stored->second))
      for (Operation *user : view.getUsers())
        if (user->getName() == op->getName())
          found.insert(user);
    break;
  }
  if (!hasOrigin)
    return byName.lookup(op->getName());
  return found.takeVector();
}
