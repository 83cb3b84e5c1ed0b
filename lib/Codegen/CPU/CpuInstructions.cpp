//===- CpuInstructions.cpp - What the CPU offers the emitters -------------===//
//
// See CpuInstructions.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/CpuInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tenon::codegen {

Value CpuInstructions::scaleByPowerOfTwo(OpBuilder &b, Location loc, Value p,
                                         Value n) const {
  auto type = dyn_cast<VectorType>(p.getType());
  if (!hasAvx512 || !type || type.getNumElements() != 16)
    return {};
  Value allLanes = arith::ConstantOp::create(b, loc, b.getI16IntegerAttr(-1));
  // 4: as the current rounding mode says.
  Value rounding = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(4));
  return LLVM::CallIntrinsicOp::create(
             b, loc, type,
             b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
             ValueRange{p, n, p, allLanes, rounding})
      .getResult(0);
}

} // namespace tenon::codegen
