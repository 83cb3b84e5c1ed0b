//===- MathKernels.cpp - A kernel per mathematical function, for tests ----===//
//
// Emitted as the compiler emits an element-wise kernel.
//
//===----------------------------------------------------------------------===//

#include "MathKernels.h"

#include "EmptyKernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tenon/Codegen/CPU/CompileObjects.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon::codegen;

static void
emitKernel(ModuleOp module, StringRef name, unsigned operandCount,
           int64_t lanes, bool isDouble,
           llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> emit) {
  OpBuilder b(module.getContext());
  Location loc = module.getLoc();
  Type element = isDouble ? Type(b.getF64Type()) : b.getF32Type();
  auto buffer = MemRefType::get({MathKernels::size}, element);
  SmallVector<MemRefType> types(operandCount + 1, buffer);
  KernelFunction kernel = createKernelFunction(b, module, name, types);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto loop = scf::ForOp::create(b, loc, index(0), index(MathKernels::size),
                                 index(std::max<int64_t>(lanes, 1)));
  b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  SmallVector<Value> operands;
  for (Value memory : ArrayRef(kernel.arguments).drop_front()) {
    if (lanes == 0)
      operands.push_back(memref::LoadOp::create(b, loc, memory, i));
    else
      operands.push_back(vector::LoadOp::create(
          b, loc, VectorType::get({lanes}, element), memory, i));
  }
  Value result = emit(b, loc, operands);
  if (lanes == 0)
    memref::StoreOp::create(b, loc, result, kernel.arguments[0], i);
  else
    vector::StoreOp::create(b, loc, result, kernel.arguments[0], i);
}

MathKernels::MathKernels(const FeatureSet &features, int64_t lanes,
                         bool isDouble, bool hasMathLibrary) {
  MLIRContext context;
  prepareContext(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  CpuInstructions instructions(features);
  instructions.hasMathLibrary = hasMathLibrary;
  for (size_t i = 0; i < mathFunctionCount; ++i) {
    const MathFunctionInfo &info = describe(MathFunction(i));
    emitKernel(*module, info.name, info.operands, lanes, isDouble,
               [&](OpBuilder &b, Location loc, ValueRange operands) {
                 return emitMath(b, loc, info.function, operands, instructions);
               });
  }
  if (!isDouble)
    emitKernel(*module, "coarse_exp2", 1, lanes, isDouble,
               [&](OpBuilder &b, Location loc, ValueRange operands) {
                 return emitCoarseExp2(b, loc, operands.front(), instructions);
               });
  // The kernels' names are those of libm's functions: keep the two apart.
  for (auto function : module->getOps<func::FuncOp>())
    if (auto symbol =
            function->getAttrOfType<StringAttr>(kernelSymbolAttribute))
      function->setAttr(
          kernelSymbolAttribute,
          StringAttr::get(&context, "kernel_" + symbol.getValue()));
  auto object = compileToObject(*module, features);
  if (failed(object)) {
    ADD_FAILURE() << "the kernels do not compile";
    return;
  }
  kernels = std::make_unique<LoadedKernels>(ArrayRef<ObjectCode>(*object));
  for (size_t i = 0; i < mathFunctionCount; ++i) {
    std::string name = "kernel_" + describe(MathFunction(i)).name.str();
    entries[i] = kernels->find(name.c_str());
    EXPECT_NE(entries[i], nullptr) << name;
  }
  coarseExp2 = isDouble ? nullptr : kernels->find("kernel_coarse_exp2");
}

void MathKernels::run(MathFunction function, void *out, const void *in,
                      const void *second) const {
  void *arguments[] = {out, const_cast<void *>(in), const_cast<void *>(second)};
  entries[size_t(function)](arguments, 0, 1);
}

void MathKernels::runCoarseExp2(void *out, const void *in) const {
  void *arguments[] = {out, const_cast<void *>(in)};
  coarseExp2(arguments, 0, 1);
}
