//===- LowerToLLVM.cpp - Kernels from vectors and loops to LLVM's dialect -===//
//
// The pass order and the C function around each kernel.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/LowerToLLVM.h"
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
#include "tenon/Codegen/CPU/KernelFunction.h"
#include "tenon/Codegen/CPU/Passes.h"

using namespace mlir;

namespace tenon::codegen {

#define GEN_PASS_DEF_LOWERTOLLVMPASS
#include "tenon/Codegen/CPU/Passes.h.inc"

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

static bool isAccepted(Operation *op) {
  static constexpr StringLiteral dialects[] = {
      "func",  "scf", "cf",   "vector", "arith",  "memref",
      "index", "ub",  "llvm", "affine", "builtin"};
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "math" ? isAcceptedMath(op)
                           : llvm::is_contained(dialects, dialect);
}

LogicalResult verifyKernels(ModuleOp module) {
  bool ok = true;
  module.walk([&](Operation *op) {
    if (!isAccepted(op)) {
      ok = false;
      InFlightDiagnostic diagnostic = op->emitError()
                                      << "operation '" << op->getName()
                                      << "' has no lowering in a CPU kernel";
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
// The C function around a kernel
//===----------------------------------------------------------------------===//

/// Adds `void symbol(ptr arguments, i64 part, i64 parts)`, which loads the
/// pointers and calls `body`.
static void addEntryPoint(LLVM::LLVMFuncOp body, StringRef symbol) {
  OpBuilder builder(body.getContext());
  Location loc = body.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type integer = builder.getI64Type();
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  {pointer, integer, integer});
  builder.setInsertionPointAfter(body);
  auto entryPoint = LLVM::LLVMFuncOp::create(builder, loc, symbol, type);
  Block *entry = entryPoint.addEntryBlock(builder);
  builder.setInsertionPointToEnd(entry);

  SmallVector<Value> operands;
  for (unsigned i = 0, e = body.getNumArguments() - 2; i != e; ++i) {
    Value address = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                        entry->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{int32_t(i)});
    operands.push_back(LLVM::LoadOp::create(builder, loc, pointer, address));
  }
  operands.push_back(entry->getArgument(1));
  operands.push_back(entry->getArgument(2));
  LLVM::CallOp::create(builder, loc, body, operands);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

static void addEntryPoints(ModuleOp module, const FeatureSet &features) {
  for (auto function :
       llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    if (function.isExternal())
      continue;
    // Kernels do not throw, and unwind tables would only make the file larger.
    function.setNoUnwind(true);
    // What LLVM computes itself has the processor's bits.
    if (features.subnormals == Subnormals::flush)
      function.setDenormalFpMath("preserve-sign,preserve-sign");
    auto symbol = function->getAttrOfType<StringAttr>(kernelSymbolAttribute);
    function.setLinkage(LLVM::Linkage::Internal);
    if (!symbol)
      continue;
    function->removeAttr(kernelSymbolAttribute);
    addEntryPoint(function, symbol);
  }
}

/// Without the instruction, LLVM converts scalars of bf16 on the way (a select
/// becomes one of f32) by a function of the compiler's runtime library, which
/// is not there. Defines it: to nearest, ties to even, and what came from bf16
/// goes back with all its bits.
static void defineBf16Conversion(ModuleOp module) {
  bool isNeeded =
      module
          .walk([](Operation *op) {
            return llvm::any_of(op->getResultTypes(),
                                [](Type type) {
                                  return getElementTypeOrSelf(type).isBF16();
                                })
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
  if (!isNeeded)
    return;
  Location loc = module.getLoc();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Type word = b.getI32Type();
  auto function = LLVM::LLVMFuncOp::create(
      b, loc, "__truncsfbf2",
      LLVM::LLVMFunctionType::get(b.getBF16Type(), {b.getF32Type()}),
      LLVM::Linkage::WeakODR);
  function.setVisibility_(LLVM::Visibility::Hidden);
  function.setNoUnwind(true);
  b.setInsertionPointToEnd(function.addEntryBlock(b));
  auto constant = [&](uint32_t value) -> Value {
    return LLVM::ConstantOp::create(b, loc, word,
                                    b.getI32IntegerAttr(int32_t(value)));
  };
  Value bits = LLVM::BitcastOp::create(b, loc, word, function.getArgument(0));
  Value high = LLVM::LShrOp::create(b, loc, bits, constant(16));
  Value odd = LLVM::AndOp::create(b, loc, high, constant(1));
  Value bias = LLVM::AddOp::create(b, loc, odd, constant(0x7fff));
  Value rounded = LLVM::LShrOp::create(
      b, loc, LLVM::AddOp::create(b, loc, bits, bias), constant(16));
  Value low = LLVM::AndOp::create(b, loc, bits, constant(0xffff));
  Value isExact =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, low, constant(0));
  Value quiet = LLVM::SelectOp::create(
      b, loc, isExact, high, LLVM::OrOp::create(b, loc, high, constant(0x40)));
  Value magnitude = LLVM::AndOp::create(b, loc, bits, constant(0x7fffffff));
  Value isNaN = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ugt,
                                     magnitude, constant(0x7f800000));
  Value result = LLVM::SelectOp::create(b, loc, isNaN, quiet, rounded);
  result = LLVM::TruncOp::create(b, loc, b.getI16Type(), result);
  LLVM::ReturnOp::create(
      b, loc,
      ValueRange(LLVM::BitcastOp::create(b, loc, b.getBF16Type(), result)));
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

static void addLoweringPasses(OpPassManager &passes,
                              const FeatureSet &features) {
  // Without the instruction, a conversion to bf16 would become a library call.
  passes.addPass(std::make_unique<ExpandArithmetic>(!features.hasAvx512Bf16()));
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

/// All of it, with passes run by `run`.
static LogicalResult lower(ModuleOp module, const FeatureSet &features,
                           OpPassManager &passes,
                           llvm::function_ref<LogicalResult()> run) {
  if (failed(verifyKernels(module)))
    return failure();
  addLoweringPasses(passes, features);
  if (failed(run()))
    return failure();
  addEntryPoints(module, features);
  if (!features.hasAvx512Bf16())
    defineBf16Conversion(module);
  return success();
}

LogicalResult lowerToLLVM(ModuleOp module, const FeatureSet &features) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  return lower(module, features, passes, [&] { return passes.run(module); });
}

//===----------------------------------------------------------------------===//
// The same as a pass
//===----------------------------------------------------------------------===//

namespace {

struct LowerToLLVM : impl::LowerToLLVMPassBase<LowerToLLVM> {
  using LowerToLLVMPassBase::LowerToLLVMPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerKernelDialects(registry);
  }

  void runOnOperation() override {
    auto isa = target::isaOfFeatureSet(cpu);
    if (!isa) {
      getOperation().emitError() << "unknown feature set '" << cpu
                                 << "', expected " << target::featureSetNames();
      return signalPassFailure();
    }
    auto mode = fromName<Subnormals>(subnormals);
    if (!mode) {
      getOperation().emitError()
          << "unknown way '" << subnormals
          << "' to treat subnormal numbers, expected flush or keep";
      return signalPassFailure();
    }
    OpPassManager passes(ModuleOp::getOperationName());
    if (failed(lower(getOperation(), {*isa, *mode}, passes,
                     [&] { return runPipeline(passes, getOperation()); })))
      signalPassFailure();
  }
};

} // namespace

} // namespace tenon::codegen
