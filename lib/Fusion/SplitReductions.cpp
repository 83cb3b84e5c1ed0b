//===- SplitReductions.cpp - Long reductions in two stages ---------------===//
//
// Rewrites long reductions over everything, or over many rows, so that their
// tree is in the IR, their first stage has work for several threads, and no sum
// of thousands of terms loses its last digits. How a reduction is split follows
// from its shape alone, never from the machine: the result's bits depend on it.
// Sums of 16-bit floats are f32 between the stages and rounded after the last.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// Reductions of fewer elements stay as they are.
constexpr int64_t shortestSplit = 16384;
/// Reductions over at least this many rows go one dimension at a time ...
constexpr int64_t shortestColumnSplit = 512;
/// ... and over one dimension of at least this many are cut into blocks.
constexpr int64_t shortestBlockedColumns = 4096;
/// The first stage has at least this many rows where the shape allows it.
constexpr int64_t wantedRows = 16;

/// The largest number of blocks up to 64 that divides `extent`.
int64_t blocksOf(int64_t extent) {
  for (int64_t blocks = 64; blocks > 1; --blocks)
    if (extent % blocks == 0)
      return blocks;
  return 1;
}

/// Whether starting a second time with the initial value changes nothing: zero
/// for a sum or an `or`, anything for a maximum or minimum, one for an `and`.
bool startsNeutral(stablehlo::ReduceOp op) {
  Block &body = op.getBody().front();
  Operation *combine = &body.front();
  if (!llvm::hasNItems(body, 2))
    return false;
  if (isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(combine))
    return true;
  Value init = op.getInitValues().front();
  if (isa<stablehlo::AddOp, stablehlo::OrOp>(combine))
    return matchPattern(init, m_AnyZeroFloat()) || matchPattern(init, m_Zero());
  return isa<stablehlo::AndOp>(combine) &&
         cast<RankedTensorType>(init.getType()).getElementType().isInteger(1) &&
         matchPattern(init, m_One());
}

/// Whether partial results have more digits than the result: sums of 16-bit
/// floats. Maxima and minima are exact in any type.
bool accumulatesInF32(stablehlo::ReduceOp op) {
  Type element =
      cast<RankedTensorType>(op.getResult(0).getType()).getElementType();
  return stablehlo::isFloatOf16Bits(element) &&
         isa<stablehlo::AddOp>(op.getBody().front().front());
}

struct SplitReductions
    : public fusion::impl::SplitReductionsPassBase<SplitReductions> {
  void runOnOperation() override {
    SmallVector<stablehlo::ReduceOp> reductions;
    getOperation().walk(
        [&](stablehlo::ReduceOp op) { reductions.push_back(op); });
    for (stablehlo::ReduceOp op : reductions)
      split(op);
  }

private:
  /// A reduction like `like` of `input` over `dims`.
  static Value reduce(OpBuilder &builder, stablehlo::ReduceOp like, Value input,
                      ArrayRef<int64_t> dims) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> kept;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(dims, dim))
        kept.push_back(type.getShape()[dim]);
    Value start = like.getInitValues().front();
    if (accumulatesInF32(like))
      start = convert(builder, like, start, type.getElementType());
    auto op = stablehlo::ReduceOp::create(
        builder, like.getLoc(),
        TypeRange{RankedTensorType::get(kept, type.getElementType())},
        ValueRange{input}, ValueRange{start},
        builder.getDenseI64ArrayAttr(dims));
    IRMapping mapping;
    like.getBody().cloneInto(&op.getBody(), mapping);
    auto scalar = RankedTensorType::get({}, type.getElementType());
    for (BlockArgument argument : op.getBody().getArguments())
      argument.setType(scalar);
    op.getBody().front().front().getResult(0).setType(scalar);
    return op.getResult(0);
  }

  /// The input in the type in which it is accumulated.
  static Value accumulated(OpBuilder &builder, stablehlo::ReduceOp op,
                           Value input) {
    return accumulatesInF32(op)
               ? convert(builder, op, input, builder.getF32Type())
               : input;
  }

  /// A constant is converted as one: the next stage asks for its value.
  static Value convert(OpBuilder &builder, stablehlo::ReduceOp op, Value value,
                       Type element) {
    auto type = cast<RankedTensorType>(value.getType()).clone(element);
    DenseElementsAttr zero;
    if (!matchPattern(value, m_Constant(&zero)) || !zero.isSplat())
      return stablehlo::ConvertOp::create(builder, op.getLoc(), type, value);
    APFloat number = zero.getSplatValue<APFloat>();
    bool inexact;
    number.convert(cast<FloatType>(element).getFloatSemantics(),
                   APFloat::rmNearestTiesToEven, &inexact);
    return stablehlo::ConstantOp::create(
        builder, op.getLoc(),
        cast<ElementsAttr>(DenseElementsAttr::get(type, number)));
  }

  void split(stablehlo::ReduceOp op) {
    // Combining partial results needs the reducer's type to be the operand's.
    std::optional<ReducedDimensions> dims = reducedDimensions(op);
    auto type = cast<RankedTensorType>(op.getInputs().front().getType());
    auto result = cast<RankedTensorType>(op.getResult(0).getType());
    if (op.getInputs().size() != 1 ||
        type.getElementType() != result.getElementType() || !startsNeutral(op))
      return;
    if (!dims)
      return splitMixed(op);
    if (dims->trailing && dims->leading == 0)
      splitTotal(op);
    else if (!dims->trailing)
      splitColumns(op, dims->leading);
  }

  /// Everything to one value: rows first, then their results.
  void splitTotal(stablehlo::ReduceOp op) {
    Value input = op.getInputs().front();
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getNumElements() < shortestSplit)
      return;
    OpBuilder builder(op);
    ArrayRef<int64_t> shape = type.getShape();
    int64_t rows = 1, rowDims = 0;
    while (rowDims + 1 < type.getRank() && rows < wantedRows)
      rows *= shape[rowDims++];
    if (rows < wantedRows) {
      int64_t last = shape.back(), blocks = blocksOf(last);
      if (blocks == 1)
        return;
      SmallVector<int64_t> blocked(shape.drop_back());
      blocked.push_back(blocks);
      blocked.push_back(last / blocks);
      input = reshape(builder, op, input, blocked);
      type = cast<RankedTensorType>(input.getType());
      rowDims = type.getRank() - 1;
    }
    input = accumulated(builder, op, input);
    Value partial = reduce(builder, op, input, range(rowDims, type.getRank()));
    finish(op, reduce(builder, op, partial, range(0, rowDims)));
  }

  /// Many rows to one: one leading dimension after the other, so that the first
  /// stage has many columns and no sum is long.
  void splitColumns(stablehlo::ReduceOp op, int64_t reducedDims) {
    Value input = op.getInputs().front();
    auto type = cast<RankedTensorType>(input.getType());
    ArrayRef<int64_t> shape = type.getShape();
    int64_t rows = 1;
    for (int64_t extent : shape.take_front(reducedDims))
      rows *= extent;
    if (rows < shortestColumnSplit)
      return;
    OpBuilder builder(op);
    if (llvm::count_if(shape.take_front(reducedDims),
                       [](int64_t extent) { return extent != 1; }) == 1) {
      int64_t blocks = blocksOf(rows);
      if (rows < shortestBlockedColumns || blocks == 1)
        return;
      SmallVector<int64_t> blocked = {rows / blocks, blocks};
      blocked.append(shape.begin() + reducedDims, shape.end());
      input = reshape(builder, op, input, blocked);
      reducedDims = 2;
    }
    input = accumulated(builder, op, input);
    for (; reducedDims > 0; --reducedDims)
      input = reduce(builder, op, input, {0});
    finish(op, input);
  }

  /// Leading and trailing dimensions, the latter fewer elements than a vector
  /// has lanes, as in the statistics of groups of a few channels: the leading
  /// ones first, with full vectors of columns, then the few.
  void splitMixed(stablehlo::ReduceOp op) {
    auto type = cast<RankedTensorType>(op.getInputs().front().getType());
    SmallVector<int64_t> leading(op.getDimensions());
    llvm::sort(leading);
    int64_t columns = 1, trailing = 0;
    for (int64_t dim = type.getRank() - 1;
         !leading.empty() && leading.back() == dim; --dim) {
      columns *= type.getDimSize(dim);
      leading.pop_back();
      ++trailing;
    }
    constexpr int64_t fewColumns = 16;
    if (leading.empty() || columns == 1 || columns >= fewColumns)
      return;
    // The trailing dimensions after the leading ones are gone.
    int64_t rank = type.getRank() - int64_t(leading.size());
    OpBuilder builder(op);
    Value input = accumulated(builder, op, op.getInputs().front());
    Value partial = reduce(builder, op, input, leading);
    finish(op, reduce(builder, op, partial, range(rank - trailing, rank)));
  }

  static SmallVector<int64_t> range(int64_t begin, int64_t end) {
    return llvm::to_vector(llvm::seq(begin, end));
  }
  static Value reshape(OpBuilder &builder, stablehlo::ReduceOp op, Value input,
                       ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(input.getType());
    return stablehlo::ReshapeOp::create(builder, op.getLoc(), type.clone(shape),
                                        input);
  }
  static void finish(stablehlo::ReduceOp op, Value total) {
    OpBuilder builder(op);
    if (total.getType() != op.getResult(0).getType())
      total = stablehlo::ConvertOp::create(builder, op.getLoc(),
                                           op.getResult(0).getType(), total);
    op.getResult(0).replaceAllUsesWith(total);
    op.erase();
  }
};

} // namespace
