//===- LowerLoops.cpp - From vectors and loops to LLVM's dialect ----------===//
//
// What is accepted, and the pass order.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/LLVM/LowerLoops.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tenon::codegen {

void registerKernelDialects(DialectRegistry &registry) {
  registry
      .insert<affine::AffineDialect, arith::ArithDialect,
              cf::ControlFlowDialect, func::FuncDialect, index::IndexDialect,
              LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
              scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
}

void prepareContext(MLIRContext &context) {
  DialectRegistry registry;
  registerKernelDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context.getOrLoadDialect(name);
}

//===----------------------------------------------------------------------===//
// What is accepted
//===----------------------------------------------------------------------===//

static bool isAcceptedMath(Operation *op) {
  return isa<math::FmaOp, math::SqrtOp, math::FloorOp, math::CeilOp,
             math::TruncOp, math::RoundEvenOp, math::AbsFOp, math::CopySignOp,
             math::AbsIOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp>(op);
}

static bool isAccepted(Operation *op, StringRef targetDialect) {
  static constexpr StringLiteral dialects[] = {
      "func",  "scf", "cf",   "vector", "arith",  "memref",
      "index", "ub",  "llvm", "affine", "builtin"};
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "math")
    return isAcceptedMath(op);
  return dialect == targetDialect || llvm::is_contained(dialects, dialect);
}

LogicalResult verifyKernels(ModuleOp module, StringRef target,
                            StringRef targetDialect) {
  bool ok = true;
  module.walk([&](Operation *op) {
    if (!isAccepted(op, targetDialect)) {
      ok = false;
      InFlightDiagnostic diagnostic =
          op->emitError() << "operation '" << op->getName()
                          << "' has no lowering in a " << target << " kernel";
      if (op->getName().getDialectNamespace() == "math")
        diagnostic.attachNote()
            << "expand it with emitMath, which keeps it within two units in "
               "the last place; a call per element would be forty times slower";
      return;
    }
    auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
    if (flags && flags.getFastMathFlagsAttr() &&
        flags.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none) {
      ok = false;
      op->emitError() << "operation '" << op->getName()
                      << "' carries fast-math flags, expected none: they let "
                         "the bits of a result depend on the compiler";
    }
  });
  return success(ok);
}

//===----------------------------------------------------------------------===//
// The pass order
//===----------------------------------------------------------------------===//

namespace {
/// Of MLIR's arith-expand what is needed and no more: it would also write
/// maximum and minimum as comparisons, to which zeros of both signs are equal.
class ExpandArithmetic
    : public PassWrapper<ExpandArithmetic, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandArithmetic)
  explicit ExpandArithmetic(bool bf16) : bf16(bf16) {}

  StringRef getName() const override { return "ExpandArithmetic"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (bf16)
      arith::populateExpandBFloat16Patterns(patterns);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }

private:
  bool bf16;
};
} // namespace

void addLoopLoweringPasses(OpPassManager &passes, bool roundsToBf16) {
  // Without the instruction, a conversion to bf16 would become a library call.
  passes.addPass(std::make_unique<ExpandArithmetic>(!roundsToBf16));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createArithToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(functions));
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

} // namespace tenon::codegen
