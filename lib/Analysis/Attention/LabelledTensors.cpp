//===- LabelledTensors.cpp - What the search for attention follows --------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "LabelledTensors.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::attention;

namespace hlo = tenon::stablehlo;

std::optional<double> attention::repeatedNumber(Value value) {
  DenseFPElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return std::nullopt;
  return constant.getSplatValue<FloatAttr>().getValueAsDouble();
}

bool attention::repeats(Value value, double number) {
  return repeatedNumber(value) == number;
}

std::optional<std::pair<Value, double>> attention::scaling(Operation *op) {
  if (auto multiply = dyn_cast_or_null<hlo::MultiplyOp>(op)) {
    if (auto factor = repeatedNumber(multiply.getRhs()))
      return std::pair(multiply.getLhs(), *factor);
    if (auto factor = repeatedNumber(multiply.getLhs()))
      return std::pair(multiply.getRhs(), *factor);
  }
  if (auto divide = dyn_cast_or_null<hlo::DivideOp>(op))
    if (auto divisor = repeatedNumber(divide.getRhs()))
      return std::pair(divide.getLhs(), 1 / *divisor);
  return std::nullopt;
}

Value attention::beforeReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    bool isSame = isa<hlo::ReshapeOp>(op) ||
                  (isa<hlo::AddOp>(op) && repeats(op->getOperand(1), 0));
    if (!isSame)
      break;
    value = op->getOperand(0);
  }
  return value;
}

Labels attention::beforeTranspose(hlo::TransposeOp op,
                                  ArrayRef<int64_t> labels) {
  Labels before(labels.size());
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    before[from] = labels[to];
  return before;
}

Labels attention::afterTranspose(hlo::TransposeOp op,
                                 ArrayRef<int64_t> labels) {
  Labels after;
  for (int64_t from : op.getPermutation())
    after.push_back(labels[from]);
  return after;
}

std::optional<Labels> attention::acrossUnits(ArrayRef<int64_t> from,
                                             ArrayRef<int64_t> labels,
                                             ArrayRef<int64_t> to) {
  if (withoutUnits(from) != withoutUnits(to))
    return std::nullopt;
  Labels found;
  size_t next = 0;
  for (int64_t extent : to) {
    if (extent == 1) {
      found.push_back(unitDimension);
      continue;
    }
    while (from[next] == 1)
      ++next;
    found.push_back(labels[next++]);
  }
  return found;
}

LabelledTensor attention::asStored(LabelledTensor tensor) {
  while (Operation *op = tensor.value.getDefiningOp()) {
    if (auto transpose = dyn_cast<hlo::TransposeOp>(op)) {
      tensor.labels = beforeTranspose(transpose, tensor.labels);
    } else {
      auto convert = dyn_cast<hlo::ConvertOp>(op);
      if (!convert || !elementOf(tensor.value).isF32() ||
          !isa<BFloat16Type, Float16Type>(elementOf(convert.getOperand())))
        break;
    }
    tensor.value = op->getOperand(0);
  }
  return tensor;
}

LabelledTensor attention::behindTranspose(LabelledTensor tensor) {
  if (!tensor.value.hasOneUse())
    return tensor;
  auto transpose = dyn_cast<hlo::TransposeOp>(*tensor.value.user_begin());
  if (!transpose || transpose->getBlock() != tensor.value.getParentBlock())
    return tensor;
  return {transpose.getResult(), afterTranspose(transpose, tensor.labels)};
}

LabelledTensor attention::beforeBroadcasts(LabelledTensor tensor) {
  tensor = asStored(tensor);
  while (auto broadcast = tensor.value.getDefiningOp<hlo::BroadcastInDimOp>()) {
    auto from = cast<RankedTensorType>(broadcast.getOperand().getType());
    auto to = cast<RankedTensorType>(broadcast.getType());
    Labels labels;
    for (auto [dim, target] :
         llvm::enumerate(broadcast.getBroadcastDimensions())) {
      bool isRepeated = from.getDimSize(dim) != to.getDimSize(target);
      labels.push_back(isRepeated ? unitDimension : tensor.labels[target]);
    }
    tensor = asStored({broadcast.getOperand(), labels});
  }
  return tensor;
}

bool attention::isSameTensor(LabelledTensor a, LabelledTensor b) {
  return a.value == b.value &&
         llvm::all_of(llvm::zip_equal(a.labels, b.labels, shapeOf(a.value)),
                      [](auto dimension) {
                        auto [left, right, extent] = dimension;
                        return left == right || extent == 1;
                      });
}
