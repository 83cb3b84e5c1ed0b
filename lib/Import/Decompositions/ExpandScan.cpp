//===- ExpandScan.cpp - A scan is a loop over its dimension ---------------===//
//
// Each round reads one slice of the inputs and writes one of the outputs.
//
//===----------------------------------------------------------------------===//

#include "DecomposeCHLO.h"

#include "tenon/Dialect/StableHLO/BuildLoop.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {

void expandScan(chlo::ScanOp op) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  auto dimension = int64_t(op.getDimension());
  int64_t rounds = op.getScanDimSize() ? int64_t(*op.getScanDimSize()) : 0;
  for (Value value : op.getInputs())
    rounds = cast<RankedTensorType>(value.getType()).getDimSize(dimension);
  for (Value value : op.getOutputs())
    rounds = cast<RankedTensorType>(value.getType()).getDimSize(dimension);

  // Carried: the operation's own carries, then the outputs filled so far.
  SmallVector<Value> starts(op.getInits());
  for (Value output : op.getOutputs())
    starts.push_back(zeros(builder, cast<RankedTensorType>(output.getType())));
  size_t carries = op.getInits().size();
  SmallVector<Value> results = buildCountedLoop(
      builder, rounds, starts, [&](Value round, ValueRange carried) {
        Value index = round;
        if (op.getIsReverse())
          index = SubtractOp::create(
              builder, scalarConstant(builder, rounds - 1), round);
        SmallVector<Value> arguments;
        for (Value input : op.getInputs())
          arguments.push_back(sliceAt(builder, input, dimension, index));
        llvm::append_range(arguments, carried.take_front(carries));
        SmallVector<Value> computed =
            cloneBody(builder, op.getBody(), arguments);
        size_t outputs = op.getOutputs().size();
        SmallVector<Value> next(ArrayRef(computed).drop_front(outputs));
        for (size_t i = 0; i < outputs; ++i)
          next.push_back(updateAt(builder, carried[carries + i], dimension,
                                  index, computed[i]));
        return next;
      });
  for (auto [i, carry] : llvm::enumerate(op.getCarries()))
    carry.replaceAllUsesWith(results[i]);
  for (auto [i, output] : llvm::enumerate(op.getOutputs()))
    output.replaceAllUsesWith(results[carries + i]);
  op.erase();
}

} // namespace tenon::importer
