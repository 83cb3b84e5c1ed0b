//===- SortSchedule.cpp - Sorted slices -----------------------------------===//
//
// A block of threads has a slice along the sorted dimension, in two halves of
// scratch memory. Neighbouring sorted runs of 1, 2, 4, ... elements are merged
// from one half into the other. Each element finds its place by itself: it is
// as many places behind the start of its run's pair as there are elements in
// front of it in its own run, and in the other run, which a binary search
// counts. From the right goes first only what the comparator puts strictly in
// front, as on a processor: equal elements keep their order, and where the
// comparator is an order the bits are the same.
//
// Example: 1,000 elements are 10 merges of at most 10 comparisons for each of
// them, 32 elements for each of 32 threads. A thread alone would make 10,000
// comparisons, one behind the other.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Codegen/Loops/SortedSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t mostThreads = 512;
/// Threads and blocks of a multiprocessor that find all their values in
/// registers.
constexpr int64_t mostThreadsAtOnce = 1024, mostBlocksAtOnce = 16;
/// Blocks that keep a GPU busy. Further slices wait for a block.
constexpr int64_t mostBlocks = 1024;

/// How slices are dealt out.
struct SortTiling {
  stablehlo::SortOp op;
  SortedSlices slices;
  /// Where in a block's scratch memory the halves of each operand begin.
  SmallVector<int64_t> offsets;
  int64_t bytesOfBlock = 0;

  explicit SortTiling(const KernelSource &source)
      : op(cast<stablehlo::SortOp>(source.root)), slices(op) {
    for (Value input : op.getInputs()) {
      constexpr int64_t alignment = 64;
      offsets.push_back(bytesOfBlock);
      bytesOfBlock += llvm::alignTo(
          2 * slices.length * bytesOf(elementOf(input)), alignment);
    }
  }

  int64_t blocks() const {
    return std::clamp<int64_t>(slices.count, 1, mostBlocks);
  }
  int64_t threads() const {
    return std::min<int64_t>(llvm::alignTo(slices.length, threadsOfWarp),
                             mostThreads);
  }
  /// Merges until all is one run.
  int64_t passes() const { return llvm::Log2_64_Ceil(slices.length); }
};

class SortKernel : GpuKernelBuilder {
public:
  SortKernel(const KernelSource &source, func::FuncOp function,
             const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        tiling(source) {
    algebra.lanes = 1;
    setBlocksAtOnce(int32_t(
        std::min(mostThreadsAtOnce / tiling.threads(), mostBlocksAtOnce)));
    Value base = create<arith::MulIOp>(algebra.scalar(block),
                                       constantIndex(tiling.bytesOfBlock));
    for (auto [input, offset] :
         llvm::zip_equal(tiling.op.getInputs(), tiling.offsets))
      halves.push_back(
          scratchBuffer(create<arith::AddIOp>(base, constantIndex(offset)),
                        {2 * tiling.slices.length}, elementOf(input)));
    forRange(llvm::divideCeil(tiling.slices.count, tiling.blocks()),
             [&](const IndexExpression &round) {
               ifBelow(round * tiling.blocks() + block, tiling.slices.count,
                       [&](const IndexExpression &slice) {
                         emitSlice(
                             algebra.delinearize(slice, tiling.slices.others));
                       });
             });
  }

private:
  void emitSlice(const Indices &others) {
    forOwnElements([&](const IndexExpression &along) {
      for (auto [input, buffer] :
           llvm::zip_equal(tiling.op.getInputs(), halves))
        points.store(buffer, along,
                     points.at(input, tiling.slices.at(others, along)));
    });
    // The half in which the runs are, by its first place.
    Values half = {constantIndex(0)};
    if (tiling.passes() > 0)
      half = forRange(
          tiling.passes(), half,
          [&](const IndexExpression &pass, ValueRange carried) -> Values {
            awaitBlock();
            Value to = create<arith::SubIOp>(
                constantIndex(tiling.slices.length), carried.front());
            forOwnElements([&](const IndexExpression &element) {
              merge(algebra.scalar(pass), carried.front(), to,
                    algebra.scalar(element));
            });
            return {to};
          });
    // An operand may be overwritten, and is read no more then.
    awaitBlock();
    forOwnElements([&](const IndexExpression &along) {
      for (auto [result, buffer] :
           llvm::zip_equal(tiling.op.getResults(), halves))
        if (int place = source.indexOfResult(result); place >= 0)
          storeResult(place, tiling.slices.at(others, along),
                      points.load(buffer, placeIn(half.front(),
                                                  algebra.scalar(along))));
    });
    if (tiling.slices.count > tiling.blocks())
      awaitBlock();
  }

  /// Calls the body with the elements of the slice that this thread has.
  void forOwnElements(Body body) {
    const int64_t threads = tiling.threads();
    forRange(llvm::divideCeil(tiling.slices.length, threads),
             [&](const IndexExpression &round) {
               ifBelow(round * threads + thread, tiling.slices.length, body);
             });
  }

  IndexExpression placeIn(Value half, Value element) {
    return algebra.uniform(create<arith::AddIOp>(half, element),
                           {0, 2 * tiling.slices.length - 1}, levels.current());
  }

  /// Puts an element of a run of 2^pass elements in its place in the next one.
  void merge(Value pass, Value from, Value to, Value element) {
    auto smaller = [&](Value x, Value y) -> Value {
      return create<arith::MinUIOp>(x, y);
    };
    auto add = [&](Value x, Value y) -> Value {
      return create<arith::AddIOp>(x, y);
    };
    auto subtract = [&](Value x, Value y) -> Value {
      return create<arith::SubIOp>(x, y);
    };
    auto choose = [&](Value which, Value x, Value y) -> Value {
      return create<arith::SelectOp>(which, x, y);
    };
    Value one = constantIndex(1), length = constantIndex(tiling.slices.length);
    Value width = create<arith::ShLIOp>(one, pass);
    Value twice = add(width, width);
    Value start =
        subtract(element, create<arith::AndIOp>(element, subtract(twice, one)));
    Value middle = smaller(add(start, width), length);
    Value end = smaller(add(middle, width), length);
    Value isLeft =
        create<arith::CmpIOp>(arith::CmpIPredicate::ult, element, middle);
    Values own;
    for (const Buffer &buffer : halves)
      own.push_back(points.load(buffer, placeIn(from, element)).value);
    Value first = choose(isLeft, middle, start);
    Values range = forLoop(
        constantIndex(0), add(pass, one), 1, {0, tiling.passes()}, 1, false,
        {first, choose(isLeft, end, middle)},
        [&](const IndexExpression &, ValueRange carried) -> Values {
          Value low = carried[0], high = carried[1];
          Value isOpen =
              create<arith::CmpIOp>(arith::CmpIPredicate::ult, low, high);
          Value at = create<arith::ShRUIOp>(add(low, high), one);
          Value goes = create<arith::AndIOp>(
              isOpen,
              goesBefore(
                  isLeft, own,
                  placeIn(from, smaller(at, constantIndex(tiling.slices.length -
                                                          1)))));
          Value ends = create<arith::XOrIOp>(isOpen, goes);
          return {choose(goes, add(at, one), low), choose(ends, at, high)};
        });
    Value inOwn = subtract(element, choose(isLeft, start, middle));
    Value place = add(start, add(inOwn, subtract(range[0], first)));
    for (auto [buffer, value] : llvm::zip_equal(halves, own))
      points.store(buffer, placeIn(to, place), {value, levels.current()});
  }

  /// Whether the element of the other run goes in front of the own one.
  Value goesBefore(Value isLeft, ArrayRef<Value> own,
                   const IndexExpression &there) {
    Values arguments; // the right element, then the left one
    for (auto [buffer, value] : llvm::zip_equal(halves, own)) {
      Value other = points.load(buffer, there).value;
      arguments.push_back(create<arith::SelectOp>(isLeft, other, value));
      arguments.push_back(create<arith::SelectOp>(isLeft, value, other));
    }
    Value before =
        points.applyRegion(tiling.op.getComparator(), arguments).front();
    // The left one goes first unless the right one is strictly in front.
    return create<arith::CmpIOp>(arith::CmpIPredicate::eq, before, isLeft);
  }

  SortTiling tiling;
  SmallVector<Buffer> halves; // per operand
};

} // namespace

bool SortSchedule::accepts(const KernelSource &source) const {
  return isa_and_nonnull<stablehlo::SortOp>(source.root) &&
         SortTiling(source).slices.length > 0;
}

LaunchShape SortSchedule::launchShape(const KernelSource &source) const {
  const SortTiling tiling(source);
  return {.parts = tiling.blocks(),
          .threads = tiling.threads(),
          .scratchBytes = tiling.blocks() * tiling.bytesOfBlock};
}

EmittedLoops SortSchedule::emit(const KernelSource &source, ModuleOp module,
                                StringRef name, unsigned) const {
  return emitAs<SortKernel>(source, module, name);
}

} // namespace tenon::codegen
