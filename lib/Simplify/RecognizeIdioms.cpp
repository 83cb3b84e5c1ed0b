//===- RecognizeIdioms.cpp - What gathers and scatters are in training ----===//
//
// Reads dimension numbers. A row of a table is a slice that is whole in all
// dimensions but the indexed one; a pick is a slice of one element.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "tenon/Simplify/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Remarks.h"

namespace tenon::simplify {
#define GEN_PASS_DEF_RECOGNIZEIDIOMSPASS
#include "tenon/Simplify/Passes.h.inc"
} // namespace tenon::simplify

using namespace mlir;
using namespace tenon::stablehlo;
using tenon::simplify::addsUp;

namespace {

enum class Access { none, rows, elements };

/// How slices of `sizes` lie in a tensor of `shape` that is indexed along
/// `indexed`, one slice per element of the dimensions in `batching`.
Access classify(ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes,
                ArrayRef<int64_t> indexed, ArrayRef<int64_t> batching) {
  if (indexed.size() == 1 && batching.empty() && shape.size() > 1 &&
      sizes[size_t(indexed[0])] == 1) {
    bool whole = true;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      whole &= int64_t(dim) == indexed[0] || sizes[dim] == shape[dim];
    if (whole)
      return Access::rows;
  }
  bool single = llvm::all_of(sizes, [](int64_t size) { return size == 1; });
  return single && !indexed.empty() ? Access::elements : Access::none;
}

/// A scatter's slice sizes in the input's dimensions.
SmallVector<int64_t> windowSizes(ScatterOp op) {
  ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  auto input = cast<RankedTensorType>(op.getInputs()[0].getType());
  auto update = cast<RankedTensorType>(op.getUpdates()[0].getType());
  SmallVector<int64_t> sizes;
  size_t window = 0;
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    bool single = llvm::is_contained(numbers.getInsertedWindowDims(), dim) ||
                  llvm::is_contained(numbers.getInputBatchingDims(), dim);
    sizes.push_back(
        single ? 1
               : update.getDimSize(numbers.getUpdateWindowDims()[window++]));
  }
  return sizes;
}

class RecognizeIdioms
    : public tenon::simplify::impl::RecognizeIdiomsPassBase<RecognizeIdioms> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (auto gather = dyn_cast<GatherOp>(op)) {
        GatherDimensionNumbersAttr numbers = gather.getDimensionNumbers();
        auto operand = cast<RankedTensorType>(gather.getOperand().getType());
        mark(op,
             classify(operand.getShape(), gather.getSliceSizes(),
                      numbers.getStartIndexMap(),
                      numbers.getOperandBatchingDims()),
             "embedding_lookup", "index_pick");
      } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
        if (!addsUp(scatter))
          return decline(op, "its region is not a sum");
        ScatterDimensionNumbersAttr numbers =
            scatter.getScatterDimensionNumbers();
        auto input = cast<RankedTensorType>(scatter.getInputs()[0].getType());
        mark(op,
             classify(input.getShape(), windowSizes(scatter),
                      numbers.getScatterDimsToOperandDims(),
                      numbers.getInputBatchingDims()),
             "embedding_gradient", "index_pick_gradient");
      }
    });
  }

  void mark(Operation *op, Access access, StringRef rows, StringRef elements) {
    if (access == Access::none)
      return decline(op, "its slices are neither rows nor elements");
    StringRef idiom = access == Access::rows ? rows : elements;
    op->setAttr(tenon::step::idiomAttrName,
                StringAttr::get(op->getContext(), idiom));
    remark::passed(op->getLoc(), remark::RemarkOpts::name("idiom").category(
                                     "simplify-recognize-idioms"))
        << remark::add("{0} is {1}", op->getName().getStringRef().str(),
                       idiom.str());
  }

  void decline(Operation *op, StringRef reason) {
    op->removeAttr(tenon::step::idiomAttrName);
    remark::missed(op->getLoc(), remark::RemarkOpts::name("idiom").category(
                                     "simplify-recognize-idioms"))
        << remark::add("{0} has no name in training",
                       op->getName().getStringRef().str())
        << remark::reason("{0}", reason.str());
  }
};

} // namespace
