//===- ChooseFormats.cpp - Store values in 16 bits ------------------------===//
//
// Puts together what values may be narrow (FormatClasses), what that costs
// (FormatModel), the cheapest choice (Solver/FormatChoice) and its proof, and
// writes it into the step (ApplyFormats).
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/Passes.h"

#include "ApplyFormats.h"
#include "FormatModel.h"
#include "HoldBatch.h"
#include "HoldParameters.h"
#include "HoldState.h"
#include "OverflowRisk.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"

namespace tenon::precision {
#define GEN_PASS_DEF_CHOOSEFORMATSPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

/// In picoseconds. Memory moves a byte in a hundredth of that.
constexpr int64_t highestPriceOfByte = 4095;

struct ChooseFormats
    : public precision::impl::ChooseFormatsPassBase<ChooseFormats> {
  using ChooseFormatsPassBase::ChooseFormatsPassBase;
  ChooseFormats(ChooseFormatsPassOptions options, const target::Target &machine,
                std::vector<PlannedKernel> kernels, SettledFormats settled,
                FormatReport &report)
      : ChooseFormatsPassBase(std::move(options)), machine(machine),
        kernels(std::move(kernels)), settled(std::move(settled)),
        filled(&report) {}

  void runOnOperation() override {
    func::FuncOp step = getOperation();
    auto isa = target::isaOfFeatureSet(cpu);
    std::string error;
    auto said = FormatPolicy::parse(policy, "the policy", format, error);
    if (!isa)
      error = "unknown feature set '" + cpu + "', expected " +
              target::featureSetNames();
    if (!error.empty()) {
      step.emitError() << error;
      return signalPassFailure();
    }
    FormatClasses classes(step, *said, format);
    if (std::string pattern = said->unmatched(); !pattern.empty()) {
      step.emitError() << pattern
                       << " of the precision policy matches nothing in this "
                          "step; correct or remove it";
      return signalPassFailure();
    }
    if (!keepWide.empty())
      classes.keepAllWide(keepWide);
    if (!filled)
      kernels = kernelsAsTheyAre(step, *isa);
    auto isHeldNarrow = [&](BlockArgument argument) {
      if (holdBatches && canBatchBeHeld(argument, *said, format,
                                        /*narrowProductsOnly=*/false))
        return true;
      switch (holding) {
      case StateHolding::none:
        return false;
      case StateHolding::parts:
        return canBeHeldInParts(argument, /*narrowProductsOnly=*/false);
      case StateHolding::bf16:
        return canBeHeldInBf16(argument, *said);
      }
      llvm_unreachable("a way to hold state");
    };
    FormatModel model =
        modelFormats(step, classes, kernels, settled,
                     filled ? machine : target::builtInTarget(*isa), *isa,
                     narrowKernels, mostBytes, isHeldNarrow);
    FormatReport own;
    FormatReport &report = filled ? *filled : own;
    if (mostBytes > 0)
      model.problem.price = price >= 0 ? price : priceOfByte(model);
    report.problem = std::move(model.problem);
    report.solution = solver::solveFormats(report.problem);
    if (!report.solution.valid) {
      step.emitError() << "no formats were found: " << report.solution.message;
      return signalPassFailure();
    }
    if (auto wrong = solver::checkFormats(report.problem, report.solution)) {
      step.emitError() << "the choice of formats is not proved: " << *wrong;
      return signalPassFailure();
    }
    report.format = format;
    report.wideSeconds = model.wideSeconds;
    report.chosenSeconds = model.seconds(report.solution);
    ChosenFormats chosen = choose(classes, model, report);
    if (format == NarrowFormat::f16)
      noteRisks(step, classes, report);
    applyFormats(classes, chosen);
    if (filled)
      return;
    removeNumbers(step);
    explainFormats(report);
  }

private:
  /// The lowest price for which the peak is small enough, or as small as it is
  /// at the highest price that the time allows.
  int64_t priceOfByte(const FormatModel &model) const {
    solver::FormatProblem problem = model.problem;
    problem.price = solver::highestPrice(
        problem, std::llround((mostSeconds - model.fixedSeconds) * 1e12),
        highestPriceOfByte);
    const solver::FormatSolution smallest = solver::solveFormats(problem);
    if (!smallest.valid)
      return 0; // which is refused
    const double peak = std::max(mostBytes.getValue(), model.peak(smallest));
    return solver::lowestPrice(
        problem,
        [&](const solver::FormatSolution &solution) {
          return model.peak(solution) <= peak;
        },
        problem.price);
  }

  /// Without a grouped copy, every operation counts as a kernel of its own.
  std::vector<PlannedKernel> kernelsAsTheyAre(func::FuncOp step,
                                              target::Isa isa) {
    numberOperations(step);
    OwningOpRef<func::FuncOp> copy = step.clone();
    groupOneByOne(*copy);
    return kernelsOf(*copy, target::builtInTarget(isa), format);
  }

  ChosenFormats choose(const FormatClasses &classes, const FormatModel &model,
                       FormatReport &report) {
    ChosenFormats chosen;
    auto isNarrow = [&](int variable) {
      return variable >= 0 && report.solution.levels[variable] == 0;
    };
    for (auto [index, each] : llvm::enumerate(classes.classes())) {
      int variable = model.variableOfClass[index];
      chosen.isNarrowClass.push_back(isNarrow(variable));
      report.isWished |= each.isWished && isNarrow(variable);
      explain(each.members.front(), each.bytes, /*isProduct=*/false,
              isNarrow(variable), variable >= 0, model.whyFixedClass[index],
              report);
    }
    for (auto [index, product] : llvm::enumerate(classes.products())) {
      int variable = model.variableOfProduct[index];
      chosen.isNarrowProduct.push_back(isNarrow(variable));
      explain(product.op->getResult(0), 0, /*isProduct=*/true,
              isNarrow(variable), variable >= 0, model.whyFixedProduct[index],
              report);
    }
    return chosen;
  }

  /// The report has a line per class first.
  static void noteRisks(func::FuncOp step, const FormatClasses &classes,
                        FormatReport &report) {
    OverflowRisk risk(step);
    for (auto [each, line] : llvm::zip(classes.classes(), report.lines)) {
      line.mayOverflow =
          line.isNarrow && llvm::any_of(each.members, [&](Value value) {
            return risk.mayOverflow(value);
          });
      report.mayOverflow += line.mayOverflow;
    }
  }

  void explain(Value value, int64_t bytes, bool isProduct, bool isNarrow,
               bool isChosen, StringRef whyFixed, FormatReport &report) const {
    Operation *op = value.getDefiningOp();
    FormatReport::Line line{op ? op->getName().getStringRef() : "argument",
                            value.getLoc()};
    line.isProduct = isProduct;
    line.isNarrow = isNarrow;
    line.bytes = isNarrow ? bytes / 2 : bytes;
    line.why =
        !isChosen ? whyFixed.str()
        : settled.count(report.lines.size())
            ? "its kernels were formed with it, and no quicker ones were "
              "found"
        : isNarrow ? "the cheapest choice"
        : report.problem.price > 0
            ? "16 bits would take longer than their bytes are worth"
            : "16 bits would take longer";
    (isProduct  ? isNarrow ? report.narrowProducts : report.wideProducts
     : isNarrow ? report.narrowValues
                : report.wideValues)++;
    report.lines.push_back(std::move(line));
  }

  target::Target machine = target::builtInTarget();
  std::vector<PlannedKernel> kernels;
  SettledFormats settled;
  FormatReport *filled = nullptr;
};

} // namespace

std::string FormatReport::Line::what() const {
  std::string text = operation.str();
  llvm::raw_string_ostream(text) << " " << where;
  return text;
}

void precision::explainFormats(const FormatReport &report) {
  for (const FormatReport::Line &line : report.lines) {
    auto options = remark::RemarkOpts::name(line.isNarrow ? "Narrow" : "Wide")
                       .category("precision-choose-formats");
    auto said = remark::analysis(line.where, options);
    if (!said)
      return; // nobody reads remarks of this category
    said << remark::add(
        "{0} {1}: {2}", line.isProduct ? "multiplies" : "is stored as",
        line.isNarrow ? nameOf(report.format) : "f32", line.why);
    if (line.mayOverflow)
      remark::analysis(line.where, remark::RemarkOpts::name("MayOverflow")
                                       .category("precision-choose-formats"))
          << remark::add("{0}", "is infinite in f16 where it exceeds 65504");
  }
}

std::unique_ptr<Pass> precision::createChooseFormatsPass(
    ChooseFormatsPassOptions options, const target::Target &machine,
    std::vector<PlannedKernel> kernels, SettledFormats settled,
    FormatReport &report) {
  return std::make_unique<ChooseFormats>(std::move(options), machine,
                                         std::move(kernels), std::move(settled),
                                         report);
}
