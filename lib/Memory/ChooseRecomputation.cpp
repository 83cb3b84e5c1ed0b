//===- ChooseRecomputation.cpp - Compute again what does not fit ---------===//
//
// Hands the ordered step to Solver/RecomputeChoice.h and writes its plan into
// the IR. What the plan costs and how good it is proved to be stays on the
// function.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "PlanRecord.h"

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Memory/RecomputeModel.h"

#include "mlir/IR/Remarks.h"

namespace tenon::memory {
#define GEN_PASS_DEF_CHOOSERECOMPUTATIONPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

static StringRef nameOf(solver::RecomputeStatus status) {
  switch (status) {
  case solver::RecomputeStatus::Solved:
    return "solved";
  case solver::RecomputeStatus::Infeasible:
    return "infeasible";
  case solver::RecomputeStatus::Undecided:
    return "undecided";
  case solver::RecomputeStatus::Invalid:
    return "invalid";
  }
  return "invalid";
}

solver::RecomputeOptions memory::recomputeOptions() {
  solver::RecomputeOptions options;
  options.moves = 200'000;
  options.nearEnough = 0.02;
  return options;
}

LogicalResult
memory::writeRecomputation(func::FuncOp main, RecomputeModel &model,
                           const solver::RecomputeSolution &solution) {
  int64_t base = model.problem().baseCost();
  Builder builder(main.getContext());
  auto integer = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  SmallVector<Attribute> exclusions;
  for (const RecomputeModel::Exclusion &excluded : model.exclusions()) {
    Operation *op = excluded.operation;
    exclusions.push_back(builder.getDictionaryAttr(
        {integer("bytes", excluded.bytes),
         builder.getNamedAttr("reason", builder.getStringAttr(excluded.reason)),
         builder.getNamedAttr("source",
                              builder.getStringAttr(sourceOf(op->getLoc())))}));
    remark::missed(op->getLoc(), remark::RemarkOpts::name("NotRecomputable")
                                     .category("memory-choose-recomputation"))
        << excluded.reason.str() << remark::metric("Bytes", excluded.bytes);
  }
  main->setAttr(
      step::recomputationAttrName,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("status",
                                builder.getStringAttr(nameOf(solution.status))),
           integer("budget", solution.budget),
           integer("nodes", model.problem().nodes.size()),
           integer("base_nanoseconds", base),
           integer("nanoseconds", solution.cost),
           integer("bound_nanoseconds", solution.bound),
           integer("peak", solution.peak),
           integer("pinned_bytes", model.pinnedBytes()),
           integer("value_bytes", model.valueBytes()),
           builder.getNamedAttr("exclusions", builder.getArrayAttr(exclusions)),
           builder.getNamedAttr(
               "problem", builder.getStringAttr(
                              solver::printRecomputeProblem(model.problem()))),
           builder.getNamedAttr(
               "solution", builder.getStringAttr(
                               solver::printRecomputeSolution(solution)))}));
  remark::analysis(main.getLoc(), remark::RemarkOpts::name("Recomputation")
                                      .category("memory-choose-recomputation"))
      << nameOf(solution.status).str()
      << remark::metric("Budget", solution.budget)
      << remark::metric("Peak", solution.peak)
      << remark::metric("BaseNanoseconds", base)
      << remark::metric("Nanoseconds", solution.cost)
      << remark::metric("BoundNanoseconds", solution.bound);
  return solution.status == solver::RecomputeStatus::Solved
             ? model.apply(solution.order, solution.rows)
             : success();
}

void memory::writeProof(func::FuncOp main,
                        const solver::RecomputeSolution &solution) {
  auto figures =
      main->getAttrOfType<DictionaryAttr>(step::recomputationAttrName);
  Builder builder(main.getContext());
  NamedAttrList list(figures);
  list.set("budget", builder.getI64IntegerAttr(solution.budget));
  list.set("bound_nanoseconds", builder.getI64IntegerAttr(solution.bound));
  list.set("solution",
           builder.getStringAttr(solver::printRecomputeSolution(solution)));
  main->setAttr(step::recomputationAttrName,
                list.getDictionary(main.getContext()));
}

namespace {
struct ChooseRecomputation
    : public memory::impl::ChooseRecomputationPassBase<ChooseRecomputation> {
  using ChooseRecomputationPassBase::ChooseRecomputationPassBase;

  void runOnOperation() override {
    func::FuncOp main = getOperation();
    if (main.isDeclaration())
      return;
    if (hostBytesPerSecond > 0)
      RecomputeModel::keepWhole(main.getBody().front());
    RecomputeModel model(main.getBody().front());
    if (hostBytesPerSecond > 0)
      model.addVariants(
          {double(hostBytesPerSecond), double(hostStartNanoseconds) * 1e-9});
    solver::RecomputeOptions options = recomputeOptions();
    options.moves = moves;
    options.quick = quick;
    solver::RecomputeSolution solution =
        solver::solveRecompute(model.problem(), budget, options);
    if (solution.status == solver::RecomputeStatus::Invalid) {
      main.emitError() << "the recomputation problem is not well formed: "
                       << solution.message;
      return signalPassFailure();
    }
    if (failed(writeRecomputation(main, model, solution)))
      signalPassFailure();
  }
};
} // namespace
