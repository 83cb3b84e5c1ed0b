//===- ErrorTwins.cpp - A lowered step beside the same step in f64 --------===//
//
// See ErrorTwins.h. Both are walks to a .tenon file with steps of their own put
// in: gradients are found in the simplified step, and become results only
// behind the choice of formats, which would keep results f32.
//
//===----------------------------------------------------------------------===//

#include "tenon/Driver/ErrorTwins.h"

#include "RunStages.h"
#include "StageEntries.h"

#include "tenon/Analysis/Gradients.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Precision/Passes.h"
#include "tenon/Precision/RoundingSwitches.h"
#include "tenon/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallBitVector.h"

#include <map>

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

/// On the operation that makes a gradient, until that is a result: the
/// parameter's argument, and which result of the operation, for each.
static constexpr llvm::StringLiteral gradientAttrName = "precision_gradient";

static func::FuncOp mainOf(Program &program) {
  return program.module->lookupSymbol<func::FuncOp>("main");
}

static void markGradients(func::FuncOp main) {
  for (const Gradient &gradient : gradientsOf(main)) {
    auto result = cast<OpResult>(gradient.value);
    SmallVector<int64_t> pairs;
    if (auto known = result.getOwner()->getAttrOfType<DenseI64ArrayAttr>(
            gradientAttrName))
      llvm::append_range(pairs, known.asArrayRef());
    pairs.append({int64_t(gradient.parameter), result.getResultNumber()});
    result.getOwner()->setAttr(
        gradientAttrName, DenseI64ArrayAttr::get(main.getContext(), pairs));
  }
}

/// The gradients that were marked, by parameter. What a narrow product reads of
/// a gradient may be a marked copy; the gradient itself comes first.
static std::map<unsigned, Value> takeMarked(func::FuncOp main) {
  std::map<unsigned, Value> gradients;
  main.walk([&](Operation *op) {
    auto pairs =
        dyn_cast_or_null<DenseI64ArrayAttr>(op->removeAttr(gradientAttrName));
    for (int64_t i = 0; pairs && i < pairs.size(); i += 2)
      gradients.try_emplace(unsigned(pairs[i]), op->getResult(pairs[i + 1]));
  });
  return gradients;
}

static std::string nameOf(func::FuncOp main, unsigned argument) {
  return main.getArgAttrOfType<StringAttr>(argument, step::nameAttrName).str();
}

static std::string resultName(const std::string &parameter) {
  return "__gradient__." + parameter;
}

/// What is stored of a gradient: it, or the number of 16 bits that it is
/// rounded to for all who read it.
static Value storedForm(Value gradient) {
  if (!gradient.hasOneUse())
    return gradient;
  Operation *reader = *gradient.user_begin();
  return step::isCompilerCast(reader) &&
                 stablehlo::isFloatOf16Bits(elementOf(reader->getResult(0)))
             ? reader->getResult(0)
             : gradient;
}

/// The walk to a file, with `work` put in behind a stage.
static Walk walkWith(StringRef behind, Stage::Work work, Walk walk) {
  auto stage = llvm::find_if(
      walk, [&](const Stage &each) { return each.name == behind; });
  walk.insert(std::next(stage), Stage{.name = "error", .run = std::move(work)});
  return walk;
}

static ExitCode compileLowered(const CompileOptions &options,
                               ErrorTwins &twins) {
  auto mark = [](Program &program, StageRun &run) {
    markGradients(mainOf(program));
    // The bits are the same, and the twin reads what users gave.
    run.resolved.holdBatches = false;
    return exitOk;
  };
  auto show = [&](Program &program, StageRun &) {
    func::FuncOp main = mainOf(program);
    for (auto [argument, value] : takeMarked(main)) {
      Value stored = storedForm(value);
      std::string name = nameOf(main, argument);
      int64_t result = step::addVisibleResult(main, stored, resultName(name));
      std::string format;
      llvm::raw_string_ostream(format) << elementOf(stored);
      twins.gradients.push_back({name, format, result, /*inExact=*/0});
    }
    return exitOk;
  };
  Walk walk = walkWith("simplify", mark,
                       walkWith("precision", show, walkTo(options.target)));
  CompileResult result = compile(options, walk);
  twins.lowered = std::move(result.file);
  return result.code;
}

static ExitCode compileExact(const CompileOptions &options, ErrorTwins &twins) {
  auto widen = [&](Program &program, StageRun &run) {
    func::FuncOp main = mainOf(program);
    // Scaled like the lowered step's, so that both have the same gradients.
    markGradients(main);
    precision::LossScalingReport scaling;
    if (ExitCode code = scaleLoss(*program.module, run, scaling);
        code != exitOk)
      return code;
    precision::FormatReport report;
    if (run.resolved.precision != Precision::f32) {
      OwningOpRef<ModuleOp> chosen;
      if (ExitCode code = chooseFormats(*program.module, run, chosen, report);
          code != exitOk)
        return code;
    }
    precision::RoundingSwitches switches(main, run.resolved.precisionPolicy,
                                         report);
    twins.decisions = switches.decisions();
    size_t found = 0;
    llvm::SmallBitVector hasGradient(main.getNumArguments());
    for (auto [parameter, gradient] : takeMarked(main)) {
      std::string name = nameOf(main, parameter);
      hasGradient.set(parameter);
      if (found == twins.gradients.size() ||
          twins.gradients[found].parameter != name)
        return fail(exitInternal, "the gradient of '" + name +
                                      "' is lost in the lowered step");
      twins.gradients[found++].inExact =
          step::addVisibleResult(main, gradient, resultName(name));
    }
    for (BlockArgument argument : main.getArguments()) {
      unsigned number = argument.getArgNumber();
      auto role =
          main.getArgAttrOfType<step::RoleAttr>(number, step::roleAttrName);
      if (role.getValue() == step::Role::parameter && !hasGradient[number])
        twins.withoutGradient.push_back(nameOf(main, number));
    }
    switches.insert();
    // What is behind needs no lowering, and no proof of it.
    run.resolved.precision = Precision::f32;
    run.resolved.precisionPolicy.clear();
    run.blame = exitUnsupported;
    return run.runPasses(*program.module, [&](OpPassManager &passes) {
      passes.addPass(simplify::createExpandAttentionPass());
      OpPassManager &functions = passes.nest<func::FuncOp>();
      functions.addPass(precision::createWidenToDoublePass());
      simplify::ApplyRulesPassOptions rules;
      rules.subnormals = name(run.resolved.features.subnormals);
      functions.addPass(simplify::createApplyRulesPass(rules));
      functions.addPass(simplify::createMergeDuplicatesPass());
    });
  };
  CompileResult result =
      compile(options, walkWith("simplify", widen, walkTo(options.target)));
  twins.exact = std::move(result.file);
  return result.code;
}

ExitCode driver::compileErrorTwins(const CompileOptions &options,
                                   ErrorTwins &twins) {
  if (ExitCode code = compileLowered(options, twins); code != exitOk)
    return code;
  return compileExact(options, twins);
}
