//===- ElementwiseSchedule.cpp - One pass over the results' elements ------===//
//
// All results have one shape, whose elements are numbered row by row. A block
// of threads takes a tile of neighbouring ones: access u of thread t is vector
// u * threads + t of the tile, so that neighbouring threads touch neighbouring
// bytes. A vector fills 16 bytes of the narrowest type that is walked along; in
// large kernels that read little and compute little, a thread loads several
// before it stores any. The last elements,
// if they are no whole vector, go one by one to as many threads.
//
// Variant v takes vectors half as long as variant v - 1: where rows are not a
// multiple of the vector, what depends on the row would have to be computed for
// each element.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/ReduceTree.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 256;
/// Blocks that keep a GPU busy; with fewer, a thread takes one vector.
constexpr int64_t manyBlocks = 512;

int64_t elementsOf(const KernelSource &source) {
  return elementCount(source.kernel.points());
}

int64_t longestVector(const KernelSource &source) {
  return longestVector(source, elementsOf(source));
}

/// Vectors of an operand that a thread of a large kernel holds at once. Those
/// of several operands are in flight together; and where much is computed, the
/// registers are better spent on more threads.
int64_t vectorsInFlight(const KernelSource &source) {
  constexpr int64_t most = 4, muchToCompute = 8;
  const int64_t elements = elementsOf(source);
  const int64_t operands =
      llvm::count_if(source.body->getArguments(), [&](Value operand) {
        return elementCount(shapeOf(operand)) >= elements;
      });
  const int64_t operations =
      llvm::count_if(source.operations(), [](Operation &op) {
        return !isa<stablehlo::ConstantOp, stablehlo::ConvertOp,
                    stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(op);
      });
  if (operations > muchToCompute)
    return 1;
  return std::max<int64_t>(most / std::max<int64_t>(operands, 1), 1);
}

/// Elements of a tile.
int64_t tileOf(const KernelSource &source) {
  const int64_t vectors = threadsPerBlock * longestVector(source),
                several = vectorsInFlight(source) * vectors;
  return elementsOf(source) >= manyBlocks * several ? several : vectors;
}

class ElementwiseKernel : GpuKernelBuilder {
public:
  ElementwiseKernel(const KernelSource &source, func::FuncOp function,
                    const LaunchShape &launch,
                    const GpuInstructions &instructions, int64_t lanes)
      : GpuKernelBuilder(source, function, launch, instructions), lanes(lanes),
        elements(elementsOf(source)),
        accesses(tileOf(source) / (threadsPerBlock * lanes)),
        accessesAtOnce(std::min(accesses, vectorsInFlight(source))) {
    emit();
  }

  using GpuKernelBuilder::cost;
  bool isCheapest() const {
    return points.gathers == 0 && algebra.divisions == 0 &&
           algebra.generalVectors == 0;
  }

private:
  void emit() {
    const int64_t tiles = elements / tileOf(source);
    if (tiles)
      ifBelow(block, tiles, [&](const IndexExpression &whole) {
        forRange(
            llvm::divideCeil(accesses, accessesAtOnce),
            [&](const IndexExpression &round) { emitRound(whole, round); });
      });
    if (tiles * tileOf(source) == elements)
      return;
    const int64_t low = launch.parts - 1;
    Value isLast;
    if (tiles) {
      isLast = create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                     algebra.scalar(block), constantIndex(low));
      return ifThen(isLast, [&] { emitLastTile(low); });
    }
    emitLastTile(low);
  }

  IndexExpression vectorOf(const IndexExpression &tile,
                           const IndexExpression &access) {
    return tile * (accesses * threadsPerBlock) + access * threadsPerBlock +
           thread;
  }

  /// A few accesses of a whole tile.
  void emitRound(const IndexExpression &tile, const IndexExpression &round) {
    SmallVector<Indices, 4> places;
    algebra.lanes = lanes;
    for (int64_t i = 0; i < accessesAtOnce; ++i)
      places.push_back(placeOf(vectorOf(tile, round * accessesAtOnce + i)));
    emitPoints(places);
  }

  /// The accesses of the last tile that there are, and what is left.
  void emitLastTile(int64_t tile) {
    const int64_t vectors = elements / lanes, rest = elements % lanes;
    algebra.lanes = lanes;
    if (vectors > tile * accesses * threadsPerBlock)
      forRange(accesses, [&](const IndexExpression &access) {
        ifBelow(vectorOf(tile, access), vectors,
                [&](const IndexExpression &vector) {
                  emitPoints({placeOf(vector)});
                });
      });
    if (!rest)
      return;
    ifBelow(thread, rest, [&](const IndexExpression &one) {
      algebra.lanes = 1;
      emitPoints({indicesOf(one + (elements - rest))});
    });
  }

  Indices placeOf(const IndexExpression &vector) {
    if (lanes == 1)
      return indicesOf(vector);
    return indicesOf(algebra.laneVariable(algebra.scalar(vector * lanes),
                                          {0, elements / lanes * lanes - 1},
                                          levels.current(), lanes));
  }
  Indices indicesOf(const IndexExpression &element) {
    ArrayRef<int64_t> shape = source.kernel.points();
    return withUnitDimensions(
        shape, algebra.delinearize(element, withoutUnits(shape)));
  }

  int64_t lanes, elements;
  int64_t accesses; // of a thread to a tile, and before it stores any
  int64_t accessesAtOnce;
};

} // namespace

bool ElementwiseSchedule::accepts(const KernelSource &source) const {
  // An update in place shall touch no more than the update.
  bool isUpdate =
      isa_and_nonnull<stablehlo::DynamicUpdateSliceOp>(source.root) &&
      source.inPlace[0] >= 0;
  return source.kernelClass == KernelClass::elementwise && !isUpdate;
}

LaunchShape ElementwiseSchedule::launchShape(const KernelSource &source) const {
  int64_t tiles = llvm::divideCeil(elementsOf(source), tileOf(source));
  return {.parts = std::max<int64_t>(tiles, 1),
          .threads = threadsPerBlock,
          .threadsAreApart = true};
}

unsigned ElementwiseSchedule::variants(const KernelSource &source) const {
  return llvm::Log2_64(longestVector(source)) + 1;
}

EmittedLoops ElementwiseSchedule::emit(const KernelSource &source,
                                       ModuleOp module, StringRef name,
                                       unsigned variant) const {
  func::FuncOp function = createKernelFunction(module, name, source, 0, {});
  ElementwiseKernel kernel(source, function, launchShape(source), instructions,
                           longestVector(source) >> variant);
  return {function, kernel.cost(), kernel.isCheapest()};
}

} // namespace tenon::codegen
