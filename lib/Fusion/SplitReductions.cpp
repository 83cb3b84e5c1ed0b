//===- SplitReductions.cpp - Long reductions in two stages ---------------===//
//
// Rewrites reductions over everything so that their tree is in the IR and their
// first stage has rows to work on in parallel. How a reduction is split follows
// from its shape alone, never from the machine: the result's bits depend on it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/IRMapping.h"

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
/// The first stage has at least this many rows where the shape allows it.
constexpr int64_t wantedRows = 16;

/// The largest number of blocks up to 64 that divides `extent`.
int64_t blocksOf(int64_t extent) {
  for (int64_t blocks = 64; blocks > 1; --blocks)
    if (extent % blocks == 0)
      return blocks;
  return 1;
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
    auto element =
        cast<RankedTensorType>(like.getResult(0).getType()).getElementType();
    auto op = stablehlo::ReduceOp::create(
        builder, like.getLoc(), TypeRange{RankedTensorType::get(kept, element)},
        ValueRange{input}, like.getInitValues(),
        builder.getDenseI64ArrayAttr(dims));
    IRMapping mapping;
    like.getBody().cloneInto(&op.getBody(), mapping);
    return op.getResult(0);
  }

  void split(stablehlo::ReduceOp op) {
    if (op.getInputs().size() != 1)
      return;
    Value input = op.getInputs().front();
    auto type = cast<RankedTensorType>(input.getType());
    auto result = cast<RankedTensorType>(op.getResult(0).getType());
    // Combining partial results needs the reducer's type to be the operand's.
    if (result.getRank() != 0 || type.getNumElements() < shortestSplit ||
        type.getElementType() != result.getElementType())
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
      input = stablehlo::ReshapeOp::create(
          builder, op.getLoc(),
          RankedTensorType::get(blocked, type.getElementType()), input);
      type = cast<RankedTensorType>(input.getType());
      rowDims = type.getRank() - 1;
    }
    auto range = [](int64_t begin, int64_t end) {
      return llvm::to_vector(llvm::seq(begin, end));
    };
    Value partial = reduce(builder, op, input, range(rowDims, type.getRank()));
    Value total = reduce(builder, op, partial, range(0, rowDims));
    op.getResult(0).replaceAllUsesWith(total);
    op.erase();
  }
};

} // namespace
