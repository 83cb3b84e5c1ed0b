//===- TopKSchedule.cpp - The few largest elements of rows ----------------===//
//
// A thread has a row, and in its registers the largest elements so far with
// their numbers. It walks the row once: each element takes the place of the
// first one that is smaller, which takes that of the next.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/TotalOrder.h"
#include "tenon/Dialect/CHLO/CHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 64;
/// Elements that a thread holds.
constexpr int64_t mostHeld = 16;

chlo::TopKOp topKOf(const KernelSource &source) {
  return cast<chlo::TopKOp>(source.root);
}

int64_t rowsOf(chlo::TopKOp op) {
  return elementCount(shapeOf(op.getOperand()).drop_back());
}

class TopKKernel : GpuKernelBuilder {
public:
  TopKKernel(const KernelSource &source, func::FuncOp function,
             const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        op(topKOf(source)), shape(shapeOf(op.getOperand())),
        count(int64_t(op.getK())) {
    ifBelow(block * threadsPerBlock + thread, rowsOf(op),
            [&](const IndexExpression &row) {
              emitRow(algebra.delinearize(row, shape.drop_back()));
            });
  }

private:
  /// What is held: elements, then their numbers.
  void emitRow(const Indices &row) {
    Type element = valueType(elementOf(op.getOperand())),
         number = valueType(elementOf(op.getIndices()));
    Values held(count, numberOfType(builder, loc, element, 0));
    held.append(count, numberOfType(builder, loc, number, 0));
    held = forRange(shape.back(), held,
                    [&](const IndexExpression &column, ValueRange held) {
                      return insert(row, column, Values(held));
                    });
    for (int64_t place = 0; place < count; ++place) {
      Indices indices = row;
      indices.push_back(place);
      for (unsigned i = 0; i < 2; ++i)
        if (int result = source.indexOfResult(op->getResult(i)); result >= 0)
          storeResult(result, indices,
                      {held[i * count + place], levels.current()});
    }
  }

  Values insert(const Indices &row, const IndexExpression &column,
                Values held) {
    Indices indices = row;
    indices.push_back(column);
    Value element = points.at(op.getOperand(), indices).value;
    Value seen = algebra.scalar(column);
    Value number =
        create<arith::IndexCastOp>(held[count].getType(), seen).getResult();
    Value moves;
    for (int64_t place = 0; place < count; ++place) {
      Value &heldElement = held[place], &heldNumber = held[count + place];
      // A place in which there is none yet.
      Value isFree = create<arith::CmpIOp>(arith::CmpIPredicate::ule, seen,
                                           constantIndex(place));
      Value takes = create<arith::OrIOp>(
          isFree, emitIsLarger(*this, elementOf(op.getOperand()), element,
                               heldElement));
      moves = moves ? Value(create<arith::OrIOp>(moves, takes)) : takes;
      auto exchange = [&](Value &here, Value &moving) {
        Value stays = create<arith::SelectOp>(moves, moving, here);
        moving = create<arith::SelectOp>(moves, here, moving);
        here = stays;
      };
      exchange(heldElement, element);
      exchange(heldNumber, number);
    }
    return held;
  }

  chlo::TopKOp op;
  ArrayRef<int64_t> shape;
  int64_t count;
};

} // namespace

bool TopKSchedule::accepts(const KernelSource &source) const {
  auto op = dyn_cast_or_null<chlo::TopKOp>(source.root);
  return op && op.getK() > 0 && int64_t(op.getK()) <= mostHeld &&
         rowsOf(op) > 0 &&
         llvm::all_of(source.inPlace, [](int64_t i) { return i < 0; });
}

LaunchShape TopKSchedule::launchShape(const KernelSource &source) const {
  return {.parts = int64_t(
              llvm::divideCeil(rowsOf(topKOf(source)), threadsPerBlock)),
          .threads = threadsPerBlock};
}

EmittedLoops TopKSchedule::emit(const KernelSource &source, ModuleOp module,
                                StringRef name, unsigned) const {
  return emitAs<TopKKernel>(source, module, name);
}

} // namespace tenon::codegen
