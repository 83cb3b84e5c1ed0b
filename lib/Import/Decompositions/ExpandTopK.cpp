//===- ExpandTopK.cpp - Approximate selections, exactly -------------------===//
//
// The custom call `ApproxTopK` selects elements by a comparator of the module
// and may miss some. On a CPU its meaning is exact: a sort and a slice.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

namespace tenon::importer {
#define GEN_PASS_DEF_EXPANDTOPKPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::stablehlo;

namespace {

struct ExpandTopK
    : public tenon::importer::impl::ExpandTopKPassBase<ExpandTopK> {
  void runOnOperation() override {
    SmallVector<CustomCallOp> calls;
    getOperation().walk([&](CustomCallOp op) {
      if (op.getCallTargetName() == "ApproxTopK")
        calls.push_back(op);
    });
    for (CustomCallOp call : calls)
      if (expand(call))
        remark::passed(call.getLoc(), remark::RemarkOpts::name("expanded")
                                          .category("import-expand-top-k"))
            << "approximate selection made exact";
  }

private:
  /// What the call compares with; null if it is no function with one block.
  func::FuncOp comparatorOf(CustomCallOp call) {
    ArrayAttr computations = call.getCalledComputations();
    if (computations.size() != 1)
      return {};
    auto function = getOperation().lookupSymbol<func::FuncOp>(
        cast<FlatSymbolRefAttr>(computations[0]).getValue());
    bool fits = function && !function.isExternal() &&
                function.getBody().hasOneBlock() &&
                function.getNumArguments() == call->getNumOperands();
    return fits ? function : func::FuncOp();
  }

  /// False if the call is not what exporters write; it is refused later.
  bool expand(CustomCallOp call) {
    auto config = call->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
    auto dim =
        config ? config.getAs<IntegerAttr>("reduction_dim") : IntegerAttr();
    func::FuncOp comparator = comparatorOf(call);
    unsigned count = call->getNumResults();
    if (!dim || !comparator || call->getNumOperands() != 2 * count)
      return false;
    OpBuilder builder(call);
    ValueRange operands = call->getOperands().take_front(count);
    auto sort = SortOp::create(
        builder, call.getLoc(), operands.getTypes(), operands,
        builder.getI64IntegerAttr(dim.getInt()), builder.getBoolAttr(true));
    IRMapping mapping;
    comparator.getBody().cloneInto(&sort.getComparator(), mapping);
    Operation *end = sort.getComparator().front().getTerminator();
    builder.setInsertionPoint(end);
    ReturnOp::create(builder, end->getLoc(), end->getOperands());
    end->erase();
    builder.setInsertionPoint(call);
    for (auto [result, sorted] :
         llvm::zip_equal(call.getResults(), sort.getResults())) {
      auto type = cast<RankedTensorType>(result.getType());
      SmallVector<int64_t> starts(type.getRank(), 0),
          strides(type.getRank(), 1);
      result.replaceAllUsesWith(SliceOp::create(builder, call.getLoc(), type,
                                                sorted, starts, type.getShape(),
                                                strides));
    }
    call.erase();
    if (SymbolTable::symbolKnownUseEmpty(comparator, getOperation()))
      comparator.erase();
    return true;
  }
};

} // namespace
