//===- VerifyExecForm.cpp - The contract of the device program ------------===//
//
// Checks that a module is in exec form (docs/Forms.md): slices lie inside their
// segments, launches match their kernels.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Step/Step.h"

namespace tenon::memory {
#define GEN_PASS_DEF_VERIFYEXECFORMPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;

namespace {

LogicalResult verifySlice(exec::SliceOp slice, ModuleOp module) {
  auto segment = module.lookupSymbol<exec::SegmentOp>(slice.getSegment());
  if (!segment)
    return slice.emitOpError("names the unknown segment '")
           << slice.getSegment() << "'";
  int64_t bytes = storedBytes(slice.getType());
  int64_t offset = slice.getOffset(), size = segment.getBytes();
  if (offset < 0 || offset % 64 != 0)
    return slice.emitOpError("starts at byte ")
           << offset << ", expected a multiple of 64";
  if (bytes > size || offset > size - bytes)
    return slice.emitOpError("ends at byte ")
           << offset + bytes << " of a segment of " << size << " bytes";
  return success();
}

LogicalResult verifyLaunch(exec::LaunchOp launch, ModuleOp module) {
  auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
  if (!kernel)
    return launch.emitOpError("launches the unknown kernel '")
           << launch.getKernel() << "'";
  auto inPlace =
      kernel->getAttrOfType<DenseI64ArrayAttr>(exec::inPlaceAttrName);
  if (inPlace && inPlace.size() != int64_t(kernel.getNumResults()))
    return launch.emitOpError("launches kernel '")
           << launch.getKernel() << "' of " << kernel.getNumResults()
           << " results, of which '" << exec::inPlaceAttrName << "' places "
           << inPlace.size();
  SmallVector<Type> expected(kernel.getArgumentTypes());
  for (auto [index, type] : llvm::enumerate(kernel.getResultTypes()))
    if (!inPlace || inPlace[index] < 0)
      expected.push_back(type);
  size_t scratch = kernel->hasAttr(exec::scratchBytesAttrName) ? 1 : 0;
  if (launch.getSlices().size() != expected.size() + scratch)
    return launch.emitOpError("passes ")
           << launch.getSlices().size() << " slices, kernel '"
           << launch.getKernel() << "' takes " << expected.size() + scratch;
  for (auto [index, type] : llvm::enumerate(expected)) {
    auto given = cast<MemRefType>(launch.getSlices()[index].getType());
    auto wanted = cast<RankedTensorType>(type);
    if (given.getShape() != wanted.getShape() ||
        given.getElementType() != wanted.getElementType())
      return launch.emitOpError("passes ")
             << given << " as argument #" << index << " of kernel '"
             << launch.getKernel() << "', which takes " << wanted;
  }
  return success();
}

struct VerifyExecForm
    : public memory::impl::VerifyExecFormPassBase<VerifyExecForm> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.getOps<exec::ProgramOp>().empty()) {
      module.emitError() << "expected a program in exec form";
      return signalPassFailure();
    }
    WalkResult result = module.walk([&](Operation *op) -> WalkResult {
      if (auto slice = dyn_cast<exec::SliceOp>(op))
        return verifySlice(slice, module);
      if (auto launch = dyn_cast<exec::LaunchOp>(op))
        return verifyLaunch(launch, module);
      if (isa<step::GroupOp>(op)) {
        op->emitOpError("remains in exec form");
        return WalkResult::interrupt();
      }
      if (op->getParentOfType<exec::ProgramOp>() &&
          llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>)) {
        op->emitOpError("makes a tensor in exec form, which holds none outside "
                        "kernels");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
