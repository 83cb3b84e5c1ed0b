//===- CpuSchedules.cpp - How the CPU computes kernels --------------------===//
//
// The list of templates, and the function that each of them fills.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/CpuSchedules.h"

#include "Templates.h"

#include "tenon/Analysis/OperationClass.h"

using namespace mlir;

namespace tenon::codegen {

extern const Template updateTemplate, transposeTemplate, elementwiseTemplate,
    rowTemplate, columnTemplate, contractionTemplate, scatterTemplate,
    reduceWindowTemplate, selectAndScatterTemplate, sortTemplate, topKTemplate,
    randomTemplate, attentionTemplate, attentionGradientTemplate;

LogicalResult checkPointOperations(const KernelSource &source) {
  for (Operation &op : source.operations())
    if (isPointOperation(&op) && failed(checkPointOperation(&op)))
      return failure();
  return success();
}

/// Memrefs of rank 1: the emitter computes positions itself.
static SmallVector<Type> argumentTypes(const KernelSource &source,
                                       int64_t scratchBytes) {
  SmallVector<Type> types;
  auto add = [&](Type tensor) {
    auto type = cast<RankedTensorType>(tensor);
    types.push_back(
        MemRefType::get({std::max<int64_t>(type.getNumElements(), 1)},
                        storageType(type.getElementType())));
  };
  for (Type type : source.body->getArgumentTypes())
    add(type);
  for (auto [result, operand] : llvm::zip(source.results(), source.inPlace))
    if (operand < 0)
      add(result.getType());
  Builder builder(source.loc.getContext());
  if (scratchBytes)
    types.push_back(MemRefType::get({scratchBytes}, builder.getI8Type()));
  types.append(2, builder.getIndexType());
  return types;
}

static func::FuncOp createFunction(ModuleOp module, StringRef name,
                                   const KernelSource &source,
                                   int64_t scratchBytes) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto type = builder.getFunctionType(argumentTypes(source, scratchBytes), {});
  auto function = func::FuncOp::create(builder, source.loc, name, type);
  builder.setInsertionPointToEnd(function.addEntryBlock());
  func::ReturnOp::create(builder, source.loc);
  return function;
}

namespace {

/// With large scratch memory, fewer parts.
constexpr int64_t scratchBudget = 1 << 20;
constexpr int64_t partsWithLargeScratch = 8;

class CpuSchedule final : public Schedule {
public:
  CpuSchedule(const Template &chosen, const CpuInstructions &instructions)
      : chosen(chosen), instructions(instructions) {}

  bool accepts(const KernelSource &source) const override {
    return chosen.accepts(source);
  }
  LogicalResult check(const KernelSource &source) const override {
    return chosen.check(source);
  }
  LaunchShape launchShape(const KernelSource &source) const override {
    auto [units, perPart] = chosen.demand(source);
    int64_t most = maximumParts;
    if (perPart)
      most = std::min(most,
                      std::max(scratchBudget / perPart, partsWithLargeScratch));
    int64_t parts = std::clamp<int64_t>(units, 1, most);
    return {parts, perPart * parts};
  }
  unsigned variants(const KernelSource &source) const override {
    return chosen.variants(source);
  }
  EmittedLoops emit(const KernelSource &source, ModuleOp module, StringRef name,
                    unsigned variant) const override {
    auto [parts, scratchBytes] = launchShape(source);
    func::FuncOp function = createFunction(module, name, source, scratchBytes);
    KernelBuilder builder(source, function, scratchBytes ? parts : 0,
                          instructions);
    chosen.emit(builder, variant);
    // Without these there is nothing to gain from shorter rows.
    bool isCheapest = builder.points.gathers == 0 &&
                      builder.algebra.divisions == 0 &&
                      builder.algebra.generalVectors == 0;
    return {function, builder.cost(), isCheapest};
  }

private:
  const Template &chosen;
  const CpuInstructions &instructions;
};

} // namespace

CpuSchedules::CpuSchedules(const FeatureSet &features)
    : instructions(features) {
  for (const Template *chosen :
       {&updateTemplate, &transposeTemplate, &elementwiseTemplate, &rowTemplate,
        &columnTemplate, &contractionTemplate, &scatterTemplate,
        &reduceWindowTemplate, &selectAndScatterTemplate, &sortTemplate,
        &topKTemplate, &randomTemplate, &attentionTemplate,
        &attentionGradientTemplate}) {
    owned.push_back(std::make_unique<CpuSchedule>(*chosen, instructions));
    all.push_back(owned.back().get());
  }
}

} // namespace tenon::codegen
