//===- SlidingWindows.cpp - Windows over a part of a dimension ------------===//
//
// An operation whose windows run over a dimension reads more of its operand
// than it writes of its result: devices hold parts of the operand that overlap.
// Which part of the result a device then computes, and whether it has all that
// this needs, follows from the meaning of windows, as follows.
//
// Element o of the result combines the elements of the dilated operand at
//
//   t = o * stride + k * window dilation - low
//
// for the places k of the window. A device that has the operand from `a` on and
// the kernel from `c` on computes, with its own `low` and with o and k counted
// from its own first ones, elements z + o of the whole result if
//
//   a * base dilation - own low = z * stride + c * window dilation - low.
//
// All that a window of an element of the result reads has to be there, if it is
// an element of the operand. If it is none, then the operation pads it, or
// there is something that is outside of the operand, which has to be what the
// operation pads.
//
//===----------------------------------------------------------------------===//

#include "Identities.h"
#include "PartitionChecker.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;
using llvm::divideCeilSigned;
using llvm::divideFloorSigned;

/// Which identities, as bits, an operation pads.
static unsigned paddedIdentities(Operation *op) {
  if (isa<stablehlo::ConvolutionOp>(op))
    return bitOf(Combine::sum);
  unsigned padded = identitiesOf(splatOf(op->getOperand(1)));
  if (isa<stablehlo::PadOp>(op))
    return padded;
  // Where it starts from anything else, that is combined once per padding.
  auto combine = combineOf(op->getRegion(0));
  return combine ? padded & bitOf(*combine) : 0;
}

bool PartitionChecker::placeWindows(Operation *local, Operation *op,
                                    const Labels &labels,
                                    std::vector<Place> &places) {
  std::vector<SlidingWindow> mine = slidingWindowsOf(local);
  for (auto [at, window] : llvm::enumerate(slidingWindowsOf(op))) {
    const int operand = labels.operands[0][window.operandDim];
    const int result = labels.results[0][window.resultDim];
    if (operand == shardingcheck::whole || operand == result) {
      if (mine[at].window.low != window.window.low ||
          mine[at].window.high != window.window.high)
        return false;
      continue;
    }
    const int kernel = window.kernelDim ? labels.operands[1][*window.kernelDim]
                                        : shardingcheck::whole;
    if (!placeWindow(mine[at], window, paddedIdentities(op),
                     shapeOf(local->getResult(0))[window.resultDim],
                     shapeOf(op->getResult(0))[window.resultDim],
                     places[operand],
                     kernel == shardingcheck::whole ? nullptr : &places[kernel],
                     places[result]))
      return false;
  }
  return true;
}

/// Where the elements of a dimension lie that may be alike; then all of them
/// have to be there.
static std::optional<PerDevice> startOf(const Place &place, int64_t devices) {
  if (place.start)
    return place.start;
  if (place.extent != place.wholeExtent)
    return std::nullopt;
  return PerDevice(devices, 0);
}

bool PartitionChecker::placeWindow(const SlidingWindow &local,
                                   const SlidingWindow &window,
                                   unsigned identities, int64_t resultExtent,
                                   int64_t wholeResultExtent,
                                   const Place &operand, const Place *kernel,
                                   Place &result) {
  const Window &whole = window.window;
  const int64_t base = whole.baseDilation, stride = whole.stride;
  const int64_t dilation = whole.windowDilation;
  // Of the window, a device has `places` from `first` on.
  const int64_t places = local.window.size, allPlaces = whole.size;
  const int64_t extent = *operand.extent, wholeExtent = operand.wholeExtent;
  auto starts = startOf(operand, devices);
  auto firsts = kernel ? startOf(*kernel, devices) : PerDevice(devices, 0);
  if (!starts || !firsts || (whole.isReversed && places != allPlaces))
    return false;
  const bool hasTail = llvm::any_of(
      operand.tails, [&](unsigned tail) { return !(tail & identities); });
  result.start = PerDevice(devices);
  result.extent = resultExtent;
  result.wholeExtent = wholeResultExtent;
  result.tails.push_back(0);
  for (int64_t device = 0; device < devices; ++device) {
    const int64_t start = (*starts)[device], first = (*firsts)[device];
    const int64_t place =
        start * base - local.window.low + whole.low - first * dilation;
    if (first < 0 || place % stride != 0)
      return false;
    const int64_t begin = place / stride;
    (*result.start)[device] = begin;
    // The elements of the result that there are, and the places of the window.
    const int64_t least = std::max<int64_t>(begin, 0);
    const int64_t most = std::min(begin + resultExtent, wholeResultExtent) - 1;
    const int64_t lastPlace = std::min(first + places, allPlaces) - 1;
    if (least > most)
      continue;
    const int64_t from = least * stride + first * dilation - whole.low;
    auto until = [&](int64_t place) {
      return most * stride + place * dilation - whole.low;
    };
    if (lastPlace >= first) {
      const int64_t reads = divideCeilSigned(std::max<int64_t>(from, 0), base);
      const int64_t last = divideFloorSigned(
          std::min(until(lastPlace), (wholeExtent - 1) * base), base);
      if (reads <= last && (reads < start || last >= start + extent))
        return false;
    }
    // Places behind the last one are zeros, and multiplied with what is there.
    const int64_t reads = std::max(divideCeilSigned(from, base), start);
    const int64_t last = std::min(
        divideFloorSigned(until(first + places - 1), base), start + extent - 1);
    if (hasTail && reads <= last && (reads < 0 || last >= wholeExtent))
      return false;
  }
  return true;
}

/// Whether other devices have sent what they have at the edge of one of these.
static bool comesFromOneOf(Value piece, ValueRange all) {
  auto permute = piece.getDefiningOp<stablehlo::CollectivePermuteOp>();
  if (!permute)
    return false;
  Value sent = permute.getOperand();
  auto slice = sent.getDefiningOp<stablehlo::SliceOp>();
  return llvm::is_contained(all, sent) ||
         (slice && llvm::is_contained(all, slice.getOperand()));
}

void PartitionChecker::visitConcatenation(stablehlo::ConcatenateOp op) {
  const int64_t dim = int64_t(op.getDimension());
  Value part = op.getResult();
  struct Block {
    Value whole;
    std::vector<Range> ranges;
  };
  std::vector<std::vector<Block>> blocks;
  for (Value operand : op->getOperands()) {
    auto &found = blocks.emplace_back();
    if (auto stored = known.find(operand); stored != known.end())
      for (const Holding &held : stored->second)
        if (auto ranges = held.isPending() ? std::nullopt : blockOf(held);
            ranges && (*ranges)[dim].start)
          found.push_back({held.whole, std::move(*ranges)});
    if (found.empty())
      return;
  }
  /// Whether a block lies at `start`, or would lie outside of the whole tensor.
  auto follows = [&](const Block &block, const Block &anchor,
                     const PerDevice &start, int64_t extent) {
    if (block.whole != anchor.whole)
      return false;
    for (auto [at, range] : llvm::enumerate(block.ranges))
      if (int64_t(at) != dim && range.start != anchor.ranges[at].start)
        return false;
    const int64_t whole = shapeOf(block.whole)[dim];
    for (int64_t device = 0; device < devices; ++device) {
      const int64_t from = start[device];
      if ((*block.ranges[dim].start)[device] != from && from + extent > 0 &&
          from < whole)
        return false;
    }
    return true;
  };
  SmallVector<int64_t> offsets{0};
  // Around the ends of a ring, a row could have other places, at which devices
  // have less: where what a device has itself lies decides.
  SmallVector<size_t> ownFirst, ofOthers;
  for (auto [at, operand] : llvm::enumerate(op->getOperands())) {
    offsets.push_back(offsets.back() + shapeOf(operand)[dim]);
    (comesFromOneOf(operand, op->getOperands()) ? ofOthers : ownFirst)
        .push_back(at);
  }
  llvm::append_range(ownFirst, ofOthers);
  llvm::SmallDenseSet<Value> found;
  for (size_t own : ownFirst)
    for (const Block &anchor : blocks[own]) {
      PerDevice begin = *anchor.ranges[dim].start;
      for (int64_t &place : begin)
        place -= offsets[own];
      bool isRow = !found.contains(anchor.whole);
      for (size_t at = 0; isRow && at < blocks.size(); ++at) {
        PerDevice start = begin;
        for (int64_t &place : start)
          place += offsets[at];
        isRow = llvm::any_of(blocks[at], [&](const Block &block) {
          return follows(block, anchor, start, offsets[at + 1] - offsets[at]);
        });
      }
      if (!isRow)
        continue;
      found.insert(anchor.whole);
      std::vector<Range> ranges = anchor.ranges;
      for (Range &range : ranges)
        range.tail = 0;
      ranges[dim].start = std::move(begin);
      addIfNew(part, holdingOf(anchor.whole, shapeOf(part), ranges));
    }
}
