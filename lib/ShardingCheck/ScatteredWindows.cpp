//===- ScatteredWindows.cpp - Windows that add to a part of a tensor ------===//
//
// Window o of a select_and_scatter chooses one of the elements of the operand
// from o * stride - low on and adds an element of the source there. A device
// that has the operand from `a` on and the source from `z` on, pads as much as
// the whole operation and has a = z * stride runs window z + o of the whole
// operation where it runs its own window o.
//
// Such a window chooses as in the whole operation if it reads the same
// elements. One that does not, or that is missing, or that is none of the whole
// operation, makes every element wrong that it reaches in either. The others
// are right: the same windows add to them, in the same order, and start from
// the same value. So only a fragment of the result is known, until an operation
// cuts something out of it that has no wrong element.
//
//===----------------------------------------------------------------------===//

#include "PartitionChecker.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

/// The longest run of elements that no window makes wrong, by local index: its
/// begin and end. `windows` from `first` on are run on elements from `start`
/// on.
static std::pair<int64_t, int64_t> rightElements(const Window &window,
                                                 int64_t start, int64_t extent,
                                                 int64_t wholeExtent,
                                                 int64_t first, int64_t windows,
                                                 int64_t wholeWindows) {
  std::vector<bool> isWrong(extent);
  const int64_t least = std::min<int64_t>(first, 0);
  const int64_t most = std::max(first + windows, wholeWindows);
  for (int64_t at = least; at < most; ++at) {
    const int64_t from = at * window.stride - window.low;
    const int64_t to = from + window.size;
    if (at >= first && at < first + windows && at >= 0 && at < wholeWindows &&
        std::max(from, start) == std::max<int64_t>(from, 0) &&
        std::min(to, start + extent) == std::min(to, wholeExtent))
      continue;
    for (int64_t element = std::max(from, start);
         element < std::min(to, start + extent); ++element)
      isWrong[element - start] = true;
  }
  std::pair<int64_t, int64_t> longest{0, 0};
  for (int64_t begin = 0; begin < extent;) {
    int64_t end = begin;
    while (end < extent && !isWrong[end])
      ++end;
    if (end - begin > longest.second - longest.first)
      longest = {begin, end};
    begin = end + 1;
  }
  return longest;
}

/// Where elements lie that may be alike: at `chosen`, if nothing says where.
static PerDevice startOr(const Place &place, PerDevice chosen) {
  return place.start.value_or(std::move(chosen));
}

std::optional<Fragment::Right>
PartitionChecker::placeScatter(const Window &window, Place &operand,
                               const Place &source) {
  PerDevice starts(devices, 0), firsts(devices, 0);
  // Alike elements may be taken for those that the other operand asks for.
  if (source.start)
    for (int64_t device = 0; device < devices; ++device)
      starts[device] = (*source.start)[device] * window.stride;
  starts = startOr(operand, std::move(starts));
  for (int64_t device = 0; device < devices; ++device)
    firsts[device] = starts[device] / window.stride;
  firsts = startOr(source, std::move(firsts));
  Fragment::Right right{PerDevice(devices), PerDevice(devices)};
  for (int64_t device = 0; device < devices; ++device) {
    if (starts[device] != firsts[device] * window.stride)
      return std::nullopt;
    std::tie(right.begin[device], right.end[device]) = rightElements(
        window, starts[device], *operand.extent, operand.wholeExtent,
        firsts[device], *source.extent, source.wholeExtent);
  }
  operand.start = std::move(starts);
  return right;
}

void PartitionChecker::scatterWindows(stablehlo::SelectAndScatterOp part,
                                      stablehlo::SelectAndScatterOp op,
                                      const Labels &labels) {
  std::vector<Place> places(labels.labels.size());
  for (auto [at, operand] : llvm::enumerate(part->getOperands()))
    if (!placeOperand(places, labels.operands[at], operand, op->getOperand(at)))
      return;
  // By dimension over which windows run.
  std::vector<std::pair<size_t, Fragment::Right>> rightAlong;
  for (auto [dim, window] : llvm::enumerate(windowsOf(op))) {
    const int operand = labels.operands[0][dim];
    const int source = labels.operands[1][dim];
    if (operand == source)
      continue;
    auto right = placeScatter(window, places[operand], places[source]);
    if (!right)
      return;
    rightAlong.push_back({dim, std::move(*right)});
  }
  Holding held;
  if (!placeResult(places, labels, 0, part.getResult(), op.getResult(), held))
    return;
  auto ranges = blockOf(held);
  if (!ranges)
    return;
  Fragment fragment =
      everyElement(op.getResult(), part.getResult(), std::move(*ranges));
  for (auto &[dim, right] : rightAlong)
    fragment.right[dim] = std::move(right);
  addFragment(part.getResult(), std::move(fragment));
}

Fragment PartitionChecker::everyElement(Value whole, Value part,
                                        std::vector<Range> ranges) {
  Fragment fragment{whole, std::move(ranges), {}};
  for (int64_t extent : shapeOf(part))
    fragment.right.push_back(
        {PerDevice(devices, 0), PerDevice(devices, extent)});
  return fragment;
}

void PartitionChecker::addFragment(Value part, Fragment fragment) {
  ArrayRef<int64_t> extents = shapeOf(part), shape = shapeOf(fragment.whole);
  bool isRight = true;
  for (auto [dim, range] : llvm::enumerate(fragment.ranges))
    for (int64_t device = 0; device < devices; ++device) {
      int64_t begin = 0, end = extents[dim];
      if (range.start) {
        begin = std::max(begin, -(*range.start)[device]);
        end = std::min(end, shape[dim] - (*range.start)[device]);
      }
      const Fragment::Right &right = fragment.right[dim];
      isRight &= begin >= end ||
                 (begin >= right.begin[device] && end <= right.end[device]);
    }
  if (isRight)
    addIfNew(part, holdingOf(fragment.whole, extents, fragment.ranges));
  else
    fragments[part].push_back(std::move(fragment));
}

void PartitionChecker::visitFragments(Operation *op) {
  if (!isa<stablehlo::PadOp, stablehlo::SliceOp, stablehlo::DynamicSliceOp>(op))
    return;
  Value from = op->getOperand(0), to = op->getResult(0);
  SmallVector<Fragment, 1> found = fragments.lookup(from);
  // What is padded is wrong where it is no element outside of the whole tensor.
  if (isa<stablehlo::PadOp>(op))
    for (const Holding &held : Holdings(known.lookup(from)))
      if (auto ranges = held.isPending() ? std::nullopt : blockOf(held))
        found.push_back(everyElement(held.whole, from, std::move(*ranges)));
  if (found.empty())
    return;
  // By dimension, how many elements each device leaves out in front.
  std::vector<PerDevice> left;
  if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
    for (auto [dim, low] : llvm::enumerate(pad.getEdgePaddingLow())) {
      if (pad.getInteriorPadding()[dim] != 0)
        return;
      left.push_back(PerDevice(devices, -low));
    }
  } else if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    for (auto [start, stride] :
         llvm::zip_equal(slice.getStartIndices(), slice.getStrides())) {
      if (stride != 1)
        return;
      left.push_back(PerDevice(devices, start));
    }
  } else {
    auto dynamic = cast<stablehlo::DynamicSliceOp>(op);
    for (auto [dim, index] : llvm::enumerate(dynamic.getStartIndices())) {
      auto number = scalarOf(index);
      if (!number)
        return;
      for (int64_t &at : *number)
        at = std::clamp<int64_t>(at, 0, shapeOf(from)[dim] - shapeOf(to)[dim]);
      left.push_back(std::move(*number));
    }
  }
  for (Fragment &fragment : found) {
    for (auto [dim, by] : llvm::enumerate(left))
      for (int64_t device = 0; device < devices; ++device) {
        Range &range = fragment.ranges[dim];
        Fragment::Right &right = fragment.right[dim];
        if (range.start)
          (*range.start)[device] += by[device];
        range.tail = 0;
        const int64_t extent = shapeOf(to)[dim];
        auto within = [&](int64_t at) {
          return std::clamp<int64_t>(at - by[device], 0, extent);
        };
        right.begin[device] = within(right.begin[device]);
        right.end[device] = within(right.end[device]);
      }
    addFragment(to, std::move(fragment));
  }
}
