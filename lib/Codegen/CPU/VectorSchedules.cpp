//===- VectorSchedules.cpp - How kernels are computed in parts ------------===//
//
// The list of templates, and the function that each of them fills.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/VectorSchedules.h"

#include "Templates.h"

#include "tenon/Codegen/CPU/TileSchedules.h"

using namespace mlir;

namespace tenon::codegen {

extern const Template neverReadTemplate, updateTemplate, transposeTemplate,
    elementwiseTemplate, rowTemplate, columnTemplate, contractionTemplate,
    scatterTemplate, reduceWindowTemplate, selectAndScatterTemplate,
    sortTemplate, topKTemplate, randomTemplate, attentionTemplate,
    attentionGradientTemplate, tileAttentionTemplate,
    tileAttentionGradientTemplate;

namespace {

/// With large scratch memory, fewer parts.
constexpr int64_t scratchBudget = 1 << 20;
constexpr int64_t partsWithLargeScratch = 8;

class VectorSchedule final : public Schedule {
public:
  VectorSchedule(const Template &chosen, const Instructions &instructions,
                 int64_t mostParts)
      : chosen(chosen), instructions(instructions), mostParts(mostParts) {}

  bool accepts(const KernelSource &source) const override {
    return chosen.accepts(source);
  }
  LogicalResult check(const KernelSource &source) const override {
    return chosen.check(source);
  }
  LaunchShape launchShape(const KernelSource &source) const override {
    auto [units, perPart] = chosen.demand(source);
    int64_t most = mostParts;
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
    const LaunchShape launch = launchShape(source);
    Type index = IndexType::get(module.getContext());
    func::FuncOp function = createKernelFunction(
        module, name, source, launch.scratchBytes, {index, index});
    KernelBuilder builder(source, function,
                          launch.scratchBytes ? launch.parts : 0, instructions);
    chosen.emit(builder, variant);
    // Without these there is nothing to gain from shorter rows.
    bool isCheapest = builder.points.gathers == 0 &&
                      builder.algebra.divisions == 0 &&
                      builder.algebra.generalVectors == 0;
    return {function, builder.cost(), isCheapest};
  }

private:
  const Template &chosen;
  const Instructions &instructions;
  int64_t mostParts;
};

} // namespace

VectorSchedules::VectorSchedules(const Instructions &instructions,
                                 int64_t mostParts) {
  for (const Template *chosen :
       {&neverReadTemplate, &updateTemplate, &transposeTemplate,
        &elementwiseTemplate, &rowTemplate, &columnTemplate,
        &contractionTemplate, &scatterTemplate, &reduceWindowTemplate,
        &selectAndScatterTemplate, &sortTemplate, &topKTemplate,
        &randomTemplate, &attentionTemplate, &attentionGradientTemplate}) {
    owned.push_back(
        std::make_unique<VectorSchedule>(*chosen, instructions, mostParts));
    all.push_back(owned.back().get());
  }
}

std::vector<std::unique_ptr<Schedule>>
tileSchedules(const Instructions &instructions, int64_t mostParts) {
  std::vector<std::unique_ptr<Schedule>> schedules;
  for (const Template *chosen :
       {&tileAttentionTemplate, &tileAttentionGradientTemplate})
    schedules.push_back(
        std::make_unique<VectorSchedule>(*chosen, instructions, mostParts));
  return schedules;
}

} // namespace tenon::codegen
