//===- EmitKernel.cpp - A kernel function from tensors to loops -----------===//
//
// Chooses the template of a kernel, tries the loop shapes it offers and keeps
// the cheapest.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/EmitKernel.h"

#include "Templates.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

extern const Template updateTemplate, transposeTemplate, elementwiseTemplate,
    rowTemplate, columnTemplate, contractionTemplate, scatterTemplate,
    reduceWindowTemplate, selectAndScatterTemplate, sortTemplate, topKTemplate,
    randomTemplate;

ArrayRef<Template> templates() {
  static const Template all[] = {
      updateTemplate,  transposeTemplate,    elementwiseTemplate,
      rowTemplate,     columnTemplate,       contractionTemplate,
      scatterTemplate, reduceWindowTemplate, selectAndScatterTemplate,
      sortTemplate,    topKTemplate,         randomTemplate};
  return all;
}

static const Template *templateOf(const KernelSource &source) {
  for (const Template &candidate : templates())
    if (candidate.accepts(source))
      return &candidate;
  return nullptr;
}

int64_t maxParts(func::FuncOp kernel) {
  KernelSource source(kernel);
  const Template *chosen = templateOf(source);
  if (!chosen)
    return 1;
  return std::clamp<int64_t>(chosen->demand(source).units, 1, maximumParts);
}

bool isFallback(func::FuncOp kernel) {
  KernelSource source(kernel);
  const Template *chosen = templateOf(source);
  return chosen && chosen->isFallback && chosen->isFallback(source);
}

int64_t scratchBytesNeeded(func::FuncOp kernel) {
  KernelSource source(kernel);
  const Template *chosen = templateOf(source);
  if (!chosen)
    return 0;
  return chosen->demand(source).scratchPerPart * maxParts(kernel);
}

/// Memrefs of rank 1: the emitter computes positions itself.
static SmallVector<Type> argumentTypes(const KernelSource &source,
                                       int64_t scratchBytes) {
  func::FuncOp kernel = source.function;
  SmallVector<Type> types;
  auto add = [&](Type tensor) {
    auto type = cast<RankedTensorType>(tensor);
    types.push_back(
        MemRefType::get({std::max<int64_t>(type.getNumElements(), 1)},
                        storageType(type.getElementType())));
  };
  for (Type type : kernel.getArgumentTypes())
    add(type);
  for (auto [type, operand] :
       llvm::zip(kernel.getResultTypes(), source.inPlace))
    if (operand < 0)
      add(type);
  Builder builder(kernel.getContext());
  if (scratchBytes)
    types.push_back(MemRefType::get({scratchBytes}, builder.getI8Type()));
  types.append(2, builder.getIndexType());
  return types;
}

static func::FuncOp createFunction(ModuleOp target, StringRef name,
                                   const KernelSource &source,
                                   int64_t scratchBytes) {
  func::FuncOp kernel = source.function;
  OpBuilder builder = OpBuilder::atBlockEnd(target.getBody());
  auto type = builder.getFunctionType(argumentTypes(source, scratchBytes), {});
  auto function = func::FuncOp::create(builder, kernel.getLoc(), name, type);
  builder.setInsertionPointToEnd(function.addEntryBlock());
  func::ReturnOp::create(builder, kernel.getLoc());
  return function;
}

/// The operations of a kernel without its constants, in the user's words.
static std::string describeOperations(func::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (Operation &op : kernel.front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    out << (text.empty() ? "'" : ", '") << op.getName() << "'";
    if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
      out << " @" << call.getCallTargetName();
  }
  return text.empty() ? "this kernel" : text;
}

FailureOr<func::FuncOp> emitKernelFunction(func::FuncOp kernel, ModuleOp target,
                                           StringRef name,
                                           const FeatureSet &features) {
  MLIRContext *context = target.getContext();
  context->loadDialect<arith::ArithDialect, math::MathDialect,
                       memref::MemRefDialect, scf::SCFDialect,
                       vector::VectorDialect>();
  KernelSource source(kernel);
  const Template *chosen = templateOf(source);
  if (!chosen)
    return kernel.emitError()
           << "no native code for " << describeOperations(kernel)
           << " (kernel '" << kernel.getName() << "')";
  if (failed(chosen->check(source)))
    return failure();

  int64_t scratchBytes = scratchBytesNeeded(kernel);
  int64_t scratchParts = scratchBytes ? maxParts(kernel) : 0;
  auto planned = kernel->getAttrOfType<IntegerAttr>(exec::scratchBytesAttrName);
  bool isPlanned = planned || kernel->hasAttr(exec::kernelKindAttrName);
  if (isPlanned && (planned ? planned.getInt() : 0) != scratchBytes)
    return kernel.emitError()
           << "kernel '" << kernel.getName() << "' needs " << scratchBytes
           << " bytes of scratch memory, its attribute "
           << exec::scratchBytesAttrName << " gives "
           << (planned ? planned.getInt() : 0);
  CpuInstructions instructions(features);
  func::FuncOp best;
  double bestCost = 0;
  for (unsigned variant = 0, e = chosen->variants(source); variant < e;
       ++variant) {
    func::FuncOp function = createFunction(target, name, source, scratchBytes);
    KernelBuilder builder(source, function, scratchParts, instructions);
    chosen->emit(builder, variant);
    double cost = builder.cost();
    if (best && cost >= bestCost) {
      function.erase();
      continue;
    }
    if (best)
      best.erase();
    best = function;
    bestCost = cost;
    // Nothing to gain from shorter rows.
    if (builder.points.gathers == 0 && builder.algebra.divisions == 0 &&
        builder.algebra.generalVectors == 0)
      break;
  }
  return best;
}

} // namespace tenon::codegen
