//===- ExpandRaggedDot.cpp - Products of groups of different sizes --------===//
//
// One plain product per group, in a loop, so that memory does not grow with the
// number of groups as it does where all groups' products are laid side by side.
// Work does: every round computes the product for all rows and keeps the
// group's.
//
// Example, rows cut into groups:   lhs [m, k], rhs [g, k, n], sizes [g]
//   first = 0, result = 0
//   for group in 0 .. g-1:
//     last    = first + sizes[group]
//     product = lhs . rhs[group]                          [m, n]
//     result  = first <= row < last ? product : result
//     first   = last
//
//===----------------------------------------------------------------------===//

#include "DecomposeCHLO.h"

#include "tenon/Dialect/StableHLO/BuildLoop.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {
namespace {

/// Names of dimensions once `removed` is gone.
SmallVector<int64_t> without(ArrayRef<int64_t> dims, int64_t removed) {
  return llvm::map_to_vector(
      dims, [&](int64_t dim) { return dim > removed ? dim - 1 : dim; });
}

class RaggedDot {
public:
  explicit RaggedDot(chlo::RaggedDotOp op)
      : op(op), builder(op.getLoc(), op),
        numbers(op.getRaggedDotDimensionNumbers()),
        ragged(numbers.getLhsRaggedDimensions()[0]), sizes(op.getGroupSizes()) {
  }

  Value expand() {
    if (llvm::is_contained(numbers.getLhsBatchingDimensions(), ragged))
      return dot(op.getLhs(), op.getRhs(), numbers.getRhsBatchingDimensions(),
                 numbers.getRhsContractingDimensions(),
                 cast<RankedTensorType>(op.getType()));
    bool contracted =
        llvm::is_contained(numbers.getLhsContractingDimensions(), ragged);
    int64_t groups = typeOf(sizes).getShape().back();
    int64_t last = typeOf(sizes).getRank() - 1;
    SmallVector<int64_t> shape(typeOf(sizes).getShape().drop_back());
    Value first = zeros(builder, typeOf(sizes).clone(shape));
    auto result = cast<RankedTensorType>(op.getType());
    SmallVector<Value> carried = buildCountedLoop(
        builder, groups, {first, zeros(builder, result)},
        [&](Value group, ValueRange values) -> SmallVector<Value> {
          Value end = AddOp::create(builder, values[0],
                                    sliceAt(builder, sizes, last, group));
          Value next = contracted
                           ? contractGroup(group, values[0], end, values[1])
                           : keepGroup(group, values[0], end, values[1]);
          return {end, next};
        });
    return carried[1];
  }

private:
  Value dot(Value lhs, Value rhs, ArrayRef<int64_t> rhsBatching,
            ArrayRef<int64_t> rhsContracting, RankedTensorType type) {
    auto dims = DotDimensionNumbersAttr::get(
        op.getContext(), numbers.getLhsBatchingDimensions(), rhsBatching,
        numbers.getLhsContractingDimensions(), rhsContracting);
    ArrayAttr precision;
    if (op.getPrecisionConfig())
      precision = builder.getArrayAttr(llvm::map_to_vector(
          *op.getPrecisionConfig(), [&](Attribute given) -> Attribute {
            auto word = chlo::stringifyPrecision(
                cast<chlo::PrecisionAttr>(given).getValue());
            return PrecisionAttr::get(op.getContext(),
                                      *symbolizePrecision(word));
          }));
    return DotGeneralOp::create(builder, type, lhs, rhs, dims, precision,
                                DotAlgorithmAttr());
  }

  /// Whether an index of the ragged dimension lies in [first, end), on `shape`
  /// where the ragged dimension is `along`. Sizes may differ along the
  /// dimensions `before` it; sizes that are the same for all of those are
  /// scalars.
  Value inside(Value first, Value end, ArrayRef<int64_t> shape, int64_t along,
               ArrayRef<int64_t> before) {
    Type element = typeOf(first).getElementType();
    auto type = RankedTensorType::get(shape, element);
    Value index =
        IotaOp::create(builder, type, builder.getI64IntegerAttr(along));
    if (typeOf(first).getRank() == 0)
      before = {};
    auto spread = [&](Value bound) -> Value {
      return BroadcastInDimOp::create(builder, type, bound, before);
    };
    ComparisonType order = element.isUnsignedInteger()
                               ? ComparisonType::UNSIGNED
                               : ComparisonType::SIGNED;
    return AndOp::create(builder,
                         CompareOp::create(builder, index, spread(first),
                                           ComparisonDirection::GE, order),
                         CompareOp::create(builder, index, spread(end),
                                           ComparisonDirection::LT, order));
  }

  /// Rows cut into groups: the group's rows of the product with its matrix.
  Value keepGroup(Value group, Value first, Value end, Value soFar) {
    int64_t groupDim = numbers.getRhsGroupDimensions()[0];
    Value matrix = sliceAt(builder, op.getRhs(), groupDim, group);
    RankedTensorType result = typeOf(soFar);
    Value product =
        dot(op.getLhs(), matrix,
            without(numbers.getRhsBatchingDimensions(), groupDim),
            without(numbers.getRhsContractingDimensions(), groupDim), result);
    // The ragged dimension's place in the result: after the batching ones,
    // among the free dimensions of the left operand.
    auto along = int64_t(numbers.getLhsBatchingDimensions().size());
    for (int64_t dim = 0; dim < ragged; ++dim)
      along += !llvm::is_contained(numbers.getLhsBatchingDimensions(), dim) &&
               !llvm::is_contained(numbers.getLhsContractingDimensions(), dim);
    Value mask = inside(first, end, result.getShape(), along,
                        llvm::to_vector(llvm::seq<int64_t>(along)));
    return SelectOp::create(builder, mask, product, soFar);
  }

  /// Terms cut into groups: the product over the group's terms, by zeros in the
  /// place of the others, as the group's slice of the result.
  Value contractGroup(Value group, Value first, Value end, Value soFar) {
    RankedTensorType type = typeOf(op.getLhs());
    SmallVector<int64_t> before(numbers.getLhsBatchingDimensions());
    for (int64_t dim : numbers.getLhsContractingDimensions()) {
      if (dim == ragged)
        break;
      before.push_back(dim);
    }
    Value mask = inside(first, end, type.getShape(), ragged, before);
    Value terms =
        SelectOp::create(builder, mask, op.getLhs(), zeros(builder, type));
    RankedTensorType result = typeOf(soFar);
    Value product = dot(terms, op.getRhs(), numbers.getRhsBatchingDimensions(),
                        numbers.getRhsContractingDimensions(),
                        result.clone(result.getShape().drop_front()));
    return updateAt(builder, soFar, 0, group, product);
  }

  chlo::RaggedDotOp op;
  ImplicitLocOpBuilder builder;
  chlo::RaggedDotDimensionNumbersAttr numbers;
  int64_t ragged;
  Value sizes;
};

} // namespace

void expandRaggedDot(chlo::RaggedDotOp op) {
  Value result = RaggedDot(op).expand();
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

} // namespace tenon::importer
