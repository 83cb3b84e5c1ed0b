//===- Check.cpp - Interpreted and compiled results of a module ----------===//
//
// Every result of an operation that is not exact is returned from @main, so
// that what follows is judged by what the compiled code really computed: each
// operation is compared on equal operands, and no error is carried on.
// Subnormal numbers are kept, and flushed for the feature set that has no other
// way.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "OnGpu.h"

#include "tenon/Analysis/FloatArithmetic.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Reference/Compare.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::random;
using reference::Exactness;

namespace {

FloatType floatPartOf(Type type) {
  return dyn_cast<FloatType>(reference::partType(getElementTypeOrSelf(type)));
}

/// Whether an operation has operands or results of f64 or complex numbers of
/// it.
bool touchesDoubles(Operation &op) {
  auto isDouble = [](Type type) {
    FloatType part = floatPartOf(type);
    return part && part.isF64();
  };
  return llvm::any_of(op.getOperandTypes(), isDouble) ||
         llvm::any_of(op.getResultTypes(), isDouble);
}

/// Whether an operation looks at the sign of NaN, which nobody promises.
bool seesBits(Operation *op) {
  auto compare = dyn_cast<stablehlo::CompareOp>(op);
  return isa<stablehlo::SortOp, stablehlo::BitcastConvertOp, chlo::TopKOp>(
             op) ||
         (compare &&
          compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER);
}

} // namespace

CheckResult Checker::run() {
  for (Operation &op : main.getBody().front().without_terminator())
    if (!check(op))
      break;
  return std::move(result);
}

void Checker::differ(Operation &op, StringRef who,
                     const std::string &difference) {
  if (result.differences.size() >= 3)
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << who << " ";
  op.print(stream, OpPrintingFlags().skipRegions().elideLargeElementsAttrs());
  stream << ": " << difference;
  result.differences.push_back(text);
}

/// Why a result is none that is allowed.
std::optional<std::string>
Checker::outside(const reference::Tensor &found,
                 ArrayRef<reference::Tensor> operands,
                 const reference::Enclosure &allowed) {
  auto message = reference::firstOutside(found, allowed);
  FloatType type = floatPartOf(found.type);
  if (!message || subnormals == Subnormals::keep || !type ||
      !hasFlushedSubnormals(type))
    return message;
  // Products and partial sums are flushed as results are, each losing less than
  // the smallest normal number.
  long double lost =
      llvm::APFloat::getSmallestNormalized(type.getFloatSemantics())
          .convertToDouble() *
      double(operands[0].size() + 1);
  reference::Enclosure wider = allowed;
  for (auto *ranges : {&wider.real, &wider.imaginary})
    for (reference::Allowed &range : *ranges) {
      range.least -= lost;
      range.most += lost;
      if (range.least <= 0 && range.most >= 0)
        range.minusZero.reset();
    }
  return reference::firstOutside(found, wider);
}

FailureOr<reference::Tensors>
Checker::interpret(Operation &op, ArrayRef<reference::Tensor> operands,
                   Subnormals subnormals) {
  reference::Interpreter interpreter(subnormals);
  // What regions capture is visible to them.
  op.walk([&](Operation *inner) {
    if (inner != &op)
      for (Value operand : inner->getOperands())
        if (auto known = values.find(operand); known != values.end())
          interpreter.define(operand, known->second);
  });
  reference::Tensors results;
  if (failed(interpreter.evaluate(op, operands, results)))
    return failure();
  return results;
}

bool Checker::mayKeep(Operation &op) const {
  return onGpu && subnormals == Subnormals::flush &&
         (touchesDoubles(op) ||
          isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op));
}

std::optional<std::string>
Checker::difference(Operation &op, ArrayRef<reference::Tensor> operands,
                    unsigned index, const reference::Tensor &found,
                    const reference::Tensor &interpreted) {
  auto message = reference::firstDifference(found, interpreted, {});
  if (!message || !mayKeep(op))
    return message;
  auto kept = interpret(op, operands, Subnormals::keep);
  if (succeeded(kept) && !reference::firstDifference(found, (*kept)[index], {}))
    return std::nullopt;
  return message;
}

bool Checker::isWithinKept(Operation &op, ArrayRef<reference::Tensor> operands,
                           unsigned index, const reference::Tensor &found) {
  if (!mayKeep(op))
    return false;
  auto kept = reference::enclose(&op, operands);
  return succeeded(kept) && !outside(found, operands, (*kept)[index]);
}

bool Checker::check(Operation &op) {
  reference::Tensors operands;
  for (Value operand : op.getOperands())
    operands.push_back(values[operand]);
  FailureOr<reference::Tensors> results = interpret(op, operands, subnormals);
  if (failed(results)) {
    result.failure =
        "the interpreter fails at " + op.getName().getStringRef().str();
    return false;
  }
  Exactness exactness = reference::exactnessOf(&op);
  std::vector<reference::Enclosure> allowed;
  if (exactness == Exactness::bounded) {
    reference::Tensors taken = operands;
    if (subnormals == Subnormals::flush)
      llvm::for_each(taken, reference::flushSubnormals);
    auto enclosures = reference::enclose(&op, taken);
    if (failed(enclosures)) {
      result.failure = "no bound for " + op.getName().getStringRef().str();
      return false;
    }
    allowed = std::move(*enclosures);
  }
  for (auto [index, value] : llvm::enumerate(op.getResults())) {
    reference::Tensor &interpreted = (*results)[index];
    std::optional<reference::Tensor> found = compiled(value);
    if (exactness == Exactness::bounded) {
      if (auto message = outside(interpreted, operands, allowed[index]))
        differ(op, "interpreted", *message);
      if (found)
        if (auto message = outside(*found, operands, allowed[index]);
            message && !isWithinKept(op, operands, index, *found))
          differ(op, "compiled", *message);
    } else if (exactness == Exactness::equal && found) {
      if (auto message = difference(op, operands, index, *found, interpreted))
        differ(op, "compiled", *message);
    }
    (exactness == Exactness::equal     ? result.equal
     : exactness == Exactness::bounded ? result.bounded
                                       : result.unjudged) += found.has_value();
    values[value] = found ? std::move(*found) : std::move(interpreted);
  }
  return true;
}

SmallVector<Value> random::valuesToJudge(func::FuncOp main) {
  llvm::SetVector<Value> values;
  for (Operation &op : main.getBody().front().without_terminator())
    if (reference::exactnessOf(&op) != Exactness::equal)
      values.insert(op.result_begin(), op.result_end());
  for (Operation &op : main.getBody().front().without_terminator())
    if (seesBits(&op))
      values.insert(op.operand_begin(), op.operand_end());
  return values.takeVector();
}

driver::CompileOptions random::compileOptions(const CheckOptions &options,
                                              Subnormals subnormals) {
  driver::CompileOptions compile;
  compile.cpu = options.cpu;
  aimAtGpu(compile, options);
  compile.fuse = options.fuse;
  compile.noLibraries = options.noLibraries;
  compile.verifyForms = true;
  compile.threads = options.threads;
  compile.subnormals = subnormals;
  return compile;
}

std::unique_ptr<runtime::Executor>
random::compileAndLoad(const driver::CompileOptions &options,
                       const runtime::ExecutorOptions &running,
                       std::string &failure) {
  driver::CompileResult compiled = driver::compile(options);
  if (compiled.code != exitOk) {
    failure =
        "compilation ends with exit code " + std::to_string(compiled.code);
    return nullptr;
  }
  runtime::Error error;
  auto executor =
      runtime::Executor::loadBytes(std::move(compiled.file), running, error);
  if (!executor)
    failure = error.message;
  return executor;
}

CheckResult random::checkModule(const std::string &path,
                                const CheckOptions &options) {
  CheckResult result;
  auto fail = [&](const Twine &what) {
    result.failure = what.str();
    return result;
  };
  auto isa = options.cpu.empty() || options.cpu == "host"
                 ? target::hostIsa()
                 : target::isaOfFeatureSet(options.cpu);
  if (!isa)
    return fail("there is no feature set '" + options.cpu + "'");
  const Subnormals subnormals = options.subnormals.value_or(
      target::describe(*isa).hasBf16 ? Subnormals::flush : Subnormals::keep);
  if (options.precision != driver::Precision::f32)
    return checkLowered(path, options, subnormals);
  DialectRegistry registry;
  importer::registerInputDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  auto module = importer::readStableHLOFile(path, context);
  if (!module)
    return fail("it cannot be read");
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || main.getNumArguments() != 0)
    return fail("it has no function @main without arguments");
  // Returns what is to be judged, too.
  Operation *terminator = main.getBody().front().getTerminator();
  llvm::SetVector<Value> values(terminator->getOperands().begin(),
                                terminator->getOperands().end());
  for (Value value : valuesToJudge(main))
    values.insert(value);
  terminator->setOperands(values.getArrayRef());
  main.setType(FunctionType::get(main.getContext(), main.getArgumentTypes(),
                                 TypeRange(values.getArrayRef())));
  main.removeResAttrsAttr();

  llvm::SmallString<128> complete;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("tenon-random", "mlir", descriptor,
                                         complete))
    return fail("no temporary file can be made");
  llvm::ToolOutputFile file(complete, descriptor); // removed at the end
  module->print(file.os());
  file.os().flush();
  driver::CompileOptions compile = compileOptions(options, subnormals);
  compile.input = complete.str().str();
  auto executor =
      compileAndLoad(compile, runningOptions(options), result.failure);
  if (!executor)
    return result;
  runtime::Error error;
  if (!executor->run(1, error))
    return fail(error.message);
  llvm::DenseMap<Value, int32_t> returned;
  for (auto [index, value] : llvm::enumerate(values))
    returned.try_emplace(value, index);
  auto compiled = [&](Value value) -> std::optional<reference::Tensor> {
    auto place = returned.find(value);
    if (place == returned.end())
      return std::nullopt;
    auto found = executor->findResult(place->second);
    if (!found)
      return std::nullopt;
    const format::Tensor &stored = executor->index().tensors[*found];
    std::vector<std::byte> bytes(format::bytesOf(stored));
    if (!executor->read(*found, bytes, error))
      return std::nullopt;
    reference::Tensor tensor(cast<RankedTensorType>(value.getType()));
    reference::readBytes(tensor, bytes.data(), byteWidth(stored.type));
    return tensor;
  };
  Checker checker(main, executor->index().subnormals, compiled);
  if (!options.architecture.empty())
    checker.setOnGpu();
  result = checker.run();
  if (!error.message.empty())
    result.failure = error.message;
  return result;
}
