//===- PointProductSchedule.cpp - Dots and convolutions by elements -------===//
//
// Products that fill no tiles: few rows or columns, a group of a convolution
// for each of its features, and integers. An element that has one sum has a
// thread, neighbouring ones along the result's last dimension, along which the
// operands are contiguous or constant. An element that has 16 sums has as many
// lanes of a warp, which read neighbours along the last summed dimension; they
// combine their sums by shuffles in the order of Loops/Contraction.h.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 128;

class PointProductKernel : GpuKernelBuilder {
public:
  PointProductKernel(const KernelSource &source, func::FuncOp function,
                     const LaunchShape &launch,
                     const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        c(*Contraction::of(source.root)), elements(elementCount(c.output)) {
    if (c.sumsPerElement() > 1)
      emitLanes();
    else
      emitThread();
  }

private:
  Value zero() { return numberOfType(builder, loc, valueType(c.sumType), 0); }

  Value addProduct(const Indices &output, const Indices &sums, Value held) {
    Value a = c.operand(*this, c.left, c.leftAt, output, sums).value;
    Value b = c.operand(*this, c.right, c.rightAt, output, sums).value;
    return c.multiplyAdd(*this, a, b, held);
  }

  void store(const Indices &output, Value sum) {
    Type type = results.front().elementType;
    if (isa<FloatType>(type))
      sum = convertFloat(builder, loc, sum, type);
    storeResult(0, output, {sum, levels.current()});
  }

  void emitThread() {
    ifBelow(block * launch.threads + thread, elements,
            [&](const IndexExpression &own) {
              Indices output = algebra.delinearize(own, c.output);
              Values sums = forSpace(
                  c.sums, {zero()}, [&](const Indices &sum, ValueRange held) {
                    return Values{addProduct(output, sum, held.front())};
                  });
              store(output, sums.front());
            });
  }

  void emitLanes() {
    // All lanes of a warp come by the shuffles; those behind the end compute
    // the last element.
    IndexExpression number = block * (launch.threads / reductionChunk) +
                             algebra.floorDiv(thread, reductionChunk);
    IndexExpression lane = algebra.mod(thread, reductionChunk);
    Indices output = algebra.delinearize(
        algebra.clamped(number, {0, elements - 1}), c.output);
    const int64_t length = c.sums.back();
    // A lane that has no term keeps its zero.
    Values sums = forSpace(
        ArrayRef(c.sums).drop_back(), {zero()},
        [&](const Indices &outer, ValueRange held) {
          return forLoop(
              algebra.scalar(lane), constantIndex(length), reductionChunk,
              {0, length - 1}, 1, /*isLane=*/false, held,
              [&](const IndexExpression &last, ValueRange held) {
                Indices sum = outer;
                sum.push_back(last);
                return Values{addProduct(output, sum, held.front())};
              },
              double(llvm::divideCeil(length, reductionChunk)));
        });
    Value sum = sums.front();
    for (int64_t distance = reductionChunk / 2; distance > 0; distance /= 2)
      sum = c.add(*this, sum, fromLane(sum, distance, reductionChunk));
    ifBelow(lane, 1, [&](const IndexExpression &) {
      ifBelow(number, elements, [&](const IndexExpression &own) {
        store(algebra.delinearize(own, c.output), sum);
      });
    });
  }

  const Contraction c;
  const int64_t elements;
};

} // namespace

bool PointProductSchedule::accepts(const KernelSource &source) const {
  return isa_and_nonnull<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(
             source.root) &&
         source.inPlace[0] < 0 &&
         elementCount(shapeOf(source.root->getResult(0))) > 0;
}

LogicalResult PointProductSchedule::check(const KernelSource &source) const {
  return checkContraction(source.root);
}

LaunchShape
PointProductSchedule::launchShape(const KernelSource &source) const {
  Contraction c = *Contraction::of(source.root);
  const int64_t threads = elementCount(c.output) * c.sumsPerElement();
  return {.parts = int64_t(llvm::divideCeil(threads, threadsPerBlock)),
          .threads = threadsPerBlock};
}

EmittedLoops PointProductSchedule::emit(const KernelSource &source,
                                        ModuleOp module, StringRef name,
                                        unsigned) const {
  return emitAs<PointProductKernel>(source, module, name);
}

} // namespace tenon::codegen
