//===- UpdateSchedule.cpp - Slices updated in place -----------------------===//
//
// A dynamic_update_slice whose result overwrites its operand touches no more
// than the update: a thread has a few neighbouring elements of it. Where the
// slice starts along the last dimension is known only when it runs, so these
// are stored one by one unless the update fills that dimension.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 256;

stablehlo::DynamicUpdateSliceOp updateOf(const KernelSource &source) {
  return cast<stablehlo::DynamicUpdateSliceOp>(source.root);
}

/// Elements that a thread stores at once.
int64_t lanesOf(const KernelSource &source) {
  auto op = updateOf(source);
  ArrayRef<int64_t> shape = shapeOf(op.getUpdate());
  if (shape.empty() || shape.back() != shapeOf(op.getOperand()).back())
    return 1;
  int64_t lanes = longestVector(source, elementCount(shape));
  while (shape.back() % lanes)
    lanes /= 2;
  return lanes;
}

int64_t vectorsOf(const KernelSource &source) {
  return elementCount(shapeOf(updateOf(source).getUpdate())) / lanesOf(source);
}

class UpdateKernel : GpuKernelBuilder {
public:
  UpdateKernel(const KernelSource &source, func::FuncOp function,
               const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions) {
    auto op = updateOf(source);
    ArrayRef<int64_t> shape = shapeOf(op.getOperand());
    ArrayRef<int64_t> updateShape = shapeOf(op.getUpdate());
    algebra.lanes = lanesOf(source);
    ifBelow(block * threadsPerBlock + thread, vectorsOf(source),
            [&](const IndexExpression &own) {
              Indices update = algebra.delinearize(
                  vectorAt(own * algebra.lanes, elementCount(updateShape)),
                  updateShape);
              Indices place;
              for (size_t dim = 0; dim < shape.size(); ++dim)
                place.push_back(
                    update[dim] +
                    points.clampedIndex(op.getStartIndices()[dim], {},
                                        shape[dim] - updateShape[dim]));
              storeResult(0, place, points.at(op.getUpdate(), update));
            });
  }
};

} // namespace

bool UpdateSchedule::accepts(const KernelSource &source) const {
  auto op = dyn_cast_or_null<stablehlo::DynamicUpdateSliceOp>(source.root);
  auto argument =
      op ? dyn_cast<BlockArgument>(op.getOperand()) : BlockArgument();
  return argument && source.inPlace[0] == int64_t(argument.getArgNumber()) &&
         elementCount(shapeOf(op.getUpdate())) > 0;
}

LaunchShape UpdateSchedule::launchShape(const KernelSource &source) const {
  return {.parts =
              int64_t(llvm::divideCeil(vectorsOf(source), threadsPerBlock)),
          .threads = threadsPerBlock};
}

EmittedLoops UpdateSchedule::emit(const KernelSource &source, ModuleOp module,
                                  StringRef name, unsigned) const {
  return emitAs<UpdateKernel>(source, module, name);
}

} // namespace tenon::codegen
