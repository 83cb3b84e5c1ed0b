//===- EmitKernel.cpp - A kernel function from tensors to loops -----------===//
//
// Chooses the schedule of a kernel, tries the loop shapes it offers and keeps
// the cheapest.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/EmitKernel.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Codegen/Loops/PointEmitter.h"
#include "tenon/Codegen/Loops/VerifySums.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

LogicalResult checkPointOperations(const KernelSource &source) {
  for (Operation &op : source.operations())
    if (isPointOperation(&op) && failed(checkPointOperation(&op)))
      return failure();
  return success();
}

const Schedule *scheduleOf(const KernelSource &source, Schedules schedules) {
  const auto *found = llvm::find_if(schedules, [&](const Schedule *schedule) {
    return schedule->accepts(source);
  });
  return found == schedules.end() ? nullptr : *found;
}

LaunchShape launchShapeOf(const KernelSource &source, Schedules schedules) {
  const Schedule *schedule = scheduleOf(source, schedules);
  return schedule ? schedule->launchShape(source) : LaunchShape();
}

/// The operations of a kernel without its constants, in the user's words.
static std::string describeOperations(const KernelSource &source) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (Operation &op : source.operations()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    out << (text.empty() ? "'" : ", '") << op.getName() << "'";
    if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
      out << " @" << call.getCallTargetName();
  }
  return text.empty() ? "this kernel" : text;
}

FailureOr<func::FuncOp> emitKernelFunction(func::FuncOp kernel, ModuleOp module,
                                           StringRef name,
                                           Schedules schedules) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  KernelSource source(kernel);
  const Schedule *schedule = scheduleOf(source, schedules);
  if (!schedule)
    return kernel.emitError()
           << "no native code for " << describeOperations(source)
           << " (kernel '" << kernel.getName() << "')";
  if (failed(schedule->check(source)))
    return failure();

  int64_t scratchBytes = schedule->launchShape(source).scratchBytes;
  auto planned = kernel->getAttrOfType<IntegerAttr>(exec::scratchBytesAttrName);
  bool isPlanned = planned || kernel->hasAttr(exec::kernelKindAttrName);
  if (isPlanned && (planned ? planned.getInt() : 0) != scratchBytes)
    return kernel.emitError()
           << "kernel '" << kernel.getName() << "' needs " << scratchBytes
           << " bytes of scratch memory, its attribute "
           << exec::scratchBytesAttrName << " gives "
           << (planned ? planned.getInt() : 0);
  EmittedLoops best;
  for (unsigned variant = 0, e = schedule->variants(source); variant < e;
       ++variant) {
    EmittedLoops loops = schedule->emit(source, module, name, variant);
    if (best.function && loops.cost >= best.cost) {
      loops.function.erase();
      continue;
    }
    if (best.function)
      best.function.erase();
    best = loops;
    if (best.isCheapest)
      break;
  }
  if (failed(verifySums(best.function, kernel)))
    return failure();
  return best.function;
}

} // namespace tenon::codegen
