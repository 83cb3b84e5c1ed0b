//===- LowerToLLVM.cpp - Kernels from vectors and loops to LLVM's dialect -===//
//
// The C function around each kernel, and the lowering as a pass.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/LowerToLLVM.h"

#include "CarryBits.h"

#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Codegen/Loops/KernelNest.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace tenon::codegen {

#define GEN_PASS_DEF_LOWERTOLLVMPASS
#include "tenon/Codegen/CPU/Passes.h.inc"

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

/// All of it, with the passes of addLoopLoweringPasses() run by `run`.
static LogicalResult lower(ModuleOp module, const FeatureSet &features,
                           llvm::function_ref<LogicalResult()> run) {
  if (failed(verifyKernels(module, "CPU")) || failed(run()))
    return failure();
  addEntryPoints(module, features);
  if (!features.hasAvx512Bf16())
    defineBf16Conversion(module);
  else
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        carryBf16AsBits(function);
  return success();
}

LogicalResult lowerToLLVM(ModuleOp module, const FeatureSet &features) {
  return LoweringToLLVM(*module.getContext(), features).run(module);
}

LoweringToLLVM::LoweringToLLVM(MLIRContext &context, const FeatureSet &features)
    : features(features), passes(&context) {
  passes.enableVerifier(false);
  addLoopLoweringPasses(passes, features.hasAvx512Bf16());
}

LogicalResult LoweringToLLVM::run(ModuleOp module) {
  return lower(module, features, [&] { return passes.run(module); });
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
    const FeatureSet features{*isa, *mode};
    OpPassManager passes(ModuleOp::getOperationName());
    addLoopLoweringPasses(passes, features.hasAvx512Bf16());
    if (failed(lower(getOperation(), features,
                     [&] { return runPipeline(passes, getOperation()); })))
      signalPassFailure();
  }
};

} // namespace

} // namespace tenon::codegen
