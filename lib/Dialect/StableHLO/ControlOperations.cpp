//===- ControlOperations.cpp - Operations: control flow, calls and tokens ===//
//
// Definitions of the operations of Control.td.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tenon::stablehlo;

#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ControlOperations.cpp.inc"

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

void CustomCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // A call on buffers works in place, whatever it says.
  auto isBuffer = llvm::IsaPred<MemRefType>;
  if (!getHasSideEffect() && llvm::none_of(getOperandTypes(), isBuffer) &&
      llvm::none_of(getResultTypes(), isBuffer))
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

void OptimizationBarrierOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // Each barrier makes values of its own: an effect that keeps MLIR from
  // merging or moving barriers, yet lets it erase one that nobody reads.
  for (OpResult result : getOperation()->getResults())
    effects.emplace_back(MemoryEffects::Allocate::get(), result);
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

LogicalResult
CompositeOp::verifySymbolUses(SymbolTableCollection &symbolTables) {
  // C2 to C4: the decomposition is a function of this type.
  auto function = symbolTables.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getDecompositionAttr());
  if (!function)
    return emitOpError() << "names the decomposition " << getDecompositionAttr()
                         << ", which is no function of this module (C2)";
  auto agree = [](TypeRange left, TypeRange right) {
    return left.size() == right.size() &&
           llvm::all_of(llvm::zip(left, right), [](auto pair) {
             return areCompatibleTypes(std::get<0>(pair), std::get<1>(pair));
           });
  };
  if (!agree(getOperandTypes(), function.getArgumentTypes()))
    return emitOpError() << "passes (" << getOperandTypes()
                         << ") to a decomposition that takes ("
                         << function.getArgumentTypes() << ") (C3)";
  if (!agree(getResultTypes(), function.getResultTypes()))
    return emitOpError() << "returns (" << getResultTypes()
                         << ") of a decomposition that returns ("
                         << function.getResultTypes() << ") (C4)";
  return success();
}

void StableHLODialect::registerControlOperations() {
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/StableHLO/ControlOperations.cpp.inc"
      >();
}
