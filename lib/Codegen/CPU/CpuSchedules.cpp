//===- CpuSchedules.cpp - How the CPU computes kernels --------------------===//
//
// The list of templates, and the function that each of them fills.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/CpuSchedules.h"

#include "Templates.h"

using namespace mlir;

namespace tenon::codegen {

extern const Template updateTemplate, transposeTemplate, elementwiseTemplate,
    rowTemplate, columnTemplate, contractionTemplate, scatterTemplate,
    reduceWindowTemplate, selectAndScatterTemplate, sortTemplate, topKTemplate,
    randomTemplate, attentionTemplate, attentionGradientTemplate;

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
    return {.parts = parts, .scratchBytes = perPart * parts};
  }
  unsigned variants(const KernelSource &source) const override {
    return chosen.variants(source);
  }
  EmittedLoops emit(const KernelSource &source, ModuleOp module, StringRef name,
                    unsigned variant) const override {
    auto [parts, threads, scratchBytes] = launchShape(source);
    Type index = IndexType::get(module.getContext());
    func::FuncOp function = createKernelFunction(module, name, source,
                                                 scratchBytes, {index, index});
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
