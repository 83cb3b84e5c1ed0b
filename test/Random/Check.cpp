//===- Check.cpp - Interpreted and compiled results of a module ----------===//
//
// Every result of an operation that is not exact is returned from @main, so
// that what follows is judged by what the compiled code really computed: each
// operation is compared on equal operands, and no error is carried on. The
// instructions of AVX512-BF16 take and give zeros for subnormal numbers
// (Intel's Software Developer's Manual, VDPBF16PS and VCVTNEPS2BF16: whatever
// MXCSR says); for that feature set, and bf16 alone, zeros are right too.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "tenon/Codegen/CPU/FeatureSet.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Driver/Compiler.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Reference/Compare.h"
#include "tenon/Reference/ErrorBound.h"
#include "tenon/Reference/Interpreter.h"
#include "tenon/Runtime/Executor.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::random;
using reference::Exactness;

namespace {

class Checker {
public:
  Checker(func::FuncOp main, runtime::Executor &executor, bool flushes)
      : main(main), executor(executor), flushes(flushes) {
    auto terminator = main.getBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
      returned.try_emplace(value, index);
  }

  CheckResult run() {
    for (Operation &op : main.getBody().front().without_terminator())
      if (!check(op))
        break;
    return std::move(result);
  }

private:
  bool check(Operation &op);
  /// What the compiled code computed for a value, if it returned it.
  std::optional<reference::Tensor> compiled(Value value);
  void differ(Operation &op, StringRef who, const std::string &difference) {
    if (result.differences.size() >= 3)
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << who << " ";
    op.print(stream, OpPrintingFlags().skipRegions().elideLargeElementsAttrs());
    stream << ": " << difference;
    result.differences.push_back(text);
  }

  std::optional<std::string> outside(Operation &op,
                                     const reference::Tensor &found,
                                     unsigned index,
                                     ArrayRef<reference::Tensor> operands,
                                     std::vector<reference::Enclosure> allowed);
  std::optional<std::string> different(Operation &op,
                                       const reference::Tensor &found,
                                       unsigned index,
                                       ArrayRef<reference::Tensor> operands,
                                       const reference::Tensor &expected);
  /// What the interpreter makes of these operands.
  FailureOr<reference::Tensors> interpret(Operation &op,
                                          ArrayRef<reference::Tensor> operands);

  func::FuncOp main;
  runtime::Executor &executor;
  bool flushes; // instructions of bf16 take and give zeros for subnormals
  llvm::DenseMap<Value, int32_t> returned;
  llvm::DenseMap<Value, reference::Tensor> values;
  CheckResult result;
};

std::optional<reference::Tensor> Checker::compiled(Value value) {
  auto place = returned.find(value);
  if (place == returned.end())
    return std::nullopt;
  auto found = executor.findResult(place->second);
  if (!found)
    return std::nullopt;
  const format::Tensor &stored = executor.index().tensors[*found];
  reference::Tensor tensor(cast<RankedTensorType>(value.getType()));
  reference::readBytes(tensor, executor.memory(*found).data(),
                       byteWidth(stored.type));
  return tensor;
}

bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

constexpr double smallestNormal = 0x1p-126; // of bf16 and f32

/// Whether regions compute bf16, of which the steps between cannot be seen.
bool hasBf16Inside(Operation &op) {
  return op
      .walk([&](Operation *inner) {
        return inner != &op && llvm::any_of(inner->getResultTypes(), isBf16)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// With zeros of the same sign for subnormal numbers of bf16, and of f32 where
/// they are what is converted to bf16.
reference::Tensor flushed(reference::Tensor tensor, bool isConverted = false) {
  Type type = getElementTypeOrSelf(tensor.type);
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  if (isBf16(tensor.type) || (isConverted && type.isF32()))
    for (reference::Element &element : tensor.elements)
      if (std::fabs(element.real) < smallestNormal)
        element.real = std::copysign(0.0, element.real);
  return tensor;
}

/// Why a result is none that is allowed.
std::optional<std::string>
Checker::outside(Operation &op, const reference::Tensor &found, unsigned index,
                 ArrayRef<reference::Tensor> operands,
                 std::vector<reference::Enclosure> allowed) {
  auto message = reference::firstOutside(found, allowed[index]);
  if (!message || !flushes || !llvm::any_of(op.getOperandTypes(), isBf16))
    return message;
  // Sums of products have subnormal products and partial sums as well.
  long double lost = isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op)
                         ? smallestNormal * double(operands[0].size())
                         : 0;
  auto orZero = [&](reference::Enclosure enclosure) {
    for (reference::Allowed &range : enclosure.real) {
      range.least -= lost;
      range.most += lost;
      if (isBf16(found.type) && std::fabs(range.least) < smallestNormal)
        range.most = std::max(range.most, 0.0L);
      if (isBf16(found.type) && std::fabs(range.most) < smallestNormal)
        range.least = std::min(range.least, 0.0L);
      range.minusZero.reset();
    }
    return enclosure;
  };
  reference::Tensors zeros;
  for (const reference::Tensor &operand : operands)
    zeros.push_back(flushed(operand));
  auto others = reference::enclose(&op, zeros);
  if (failed(others))
    return message;
  reference::Enclosure exact = orZero(allowed[index]);
  reference::Enclosure ofZeros = orZero((*others)[index]);
  for (int64_t i = 0; i < found.size(); ++i)
    if (reference::allows(ofZeros, i, found.elements[i]))
      exact.real[i].anything = true;
  return reference::firstOutside(found, exact);
}

FailureOr<reference::Tensors>
Checker::interpret(Operation &op, ArrayRef<reference::Tensor> operands) {
  reference::Interpreter interpreter;
  // What regions capture is visible to them.
  op.walk([&](Operation *inner) {
    if (inner != &op)
      for (Value operand : inner->getOperands())
        if (auto known = values.find(operand); known != values.end())
          interpreter.define(operand, known->second);
  });
  reference::Evaluate evaluate =
      reference::evaluatorFor(op.getName().getStringRef());
  reference::Tensors results;
  if (!evaluate || failed(evaluate(&op, interpreter, operands, results)))
    return failure();
  return results;
}

/// Why a result is not the one there is.
std::optional<std::string>
Checker::different(Operation &op, const reference::Tensor &found,
                   unsigned index, ArrayRef<reference::Tensor> operands,
                   const reference::Tensor &expected) {
  auto message = reference::firstDifference(found, expected, {});
  if (!message || !flushes)
    return message;
  auto orZero = [&](reference::Tensor expected) {
    reference::Tensor zeros = flushed(expected);
    for (int64_t i = 0; i < found.size(); ++i)
      if (isBf16(found.type) && found.elements[i].real == 0)
        expected.elements[i] = zeros.elements[i];
    return reference::firstDifference(found, expected, {});
  };
  if (isBf16(found.type) && !orZero(expected))
    return std::nullopt;
  bool isConverted = isa<stablehlo::ConvertOp>(op) && isBf16(found.type);
  if (!llvm::any_of(op.getOperandTypes(), isBf16) && !isConverted)
    return message;
  reference::Tensors zeros;
  for (const reference::Tensor &operand : operands)
    zeros.push_back(flushed(operand, isConverted));
  auto others = interpret(op, zeros);
  if (failed(others))
    return message;
  // Single elements are converted by other instructions.
  reference::Tensor &ofZeros = (*others)[index];
  for (int64_t i = 0; isConverted && i < found.size(); ++i)
    if (found.elements[i].real != 0)
      ofZeros.elements[i] = expected.elements[i];
  return orZero(ofZeros) ? message : std::nullopt;
}

bool Checker::check(Operation &op) {
  reference::Tensors operands;
  for (Value operand : op.getOperands())
    operands.push_back(values[operand]);
  FailureOr<reference::Tensors> results = interpret(op, operands);
  if (failed(results)) {
    result.failure =
        "the interpreter fails at " + op.getName().getStringRef().str();
    return false;
  }
  Exactness exactness = reference::exactnessOf(&op);
  if (flushes && hasBf16Inside(op))
    exactness = Exactness::unjudged;
  std::vector<reference::Enclosure> allowed;
  if (exactness == Exactness::bounded) {
    auto enclosures = reference::enclose(&op, operands);
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
      if (auto message = reference::firstOutside(interpreted, allowed[index]))
        differ(op, "interpreted", *message);
      if (found)
        if (auto message = outside(op, *found, index, operands, allowed))
          differ(op, "compiled", *message);
    } else if (exactness == Exactness::equal && found) {
      if (auto message = different(op, *found, index, operands, interpreted))
        differ(op, "compiled", *message);
    }
    (exactness == Exactness::equal     ? result.equal
     : exactness == Exactness::bounded ? result.bounded
                                       : result.unjudged) += found.has_value();
    values[value] = found ? std::move(*found) : std::move(interpreted);
  }
  return true;
}

/// Whether an operation looks at the sign of NaN, which nobody promises.
bool seesBits(Operation *op) {
  auto compare = dyn_cast<stablehlo::CompareOp>(op);
  return isa<stablehlo::SortOp, stablehlo::BitcastConvertOp, chlo::TopKOp>(
             op) ||
         (compare &&
          compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER);
}

/// Returns every result that is not exact, and those that may be flushed or
/// whose bits are looked at.
void returnInexact(func::FuncOp main, bool flushes) {
  Operation *terminator = main.getBody().front().getTerminator();
  llvm::SetVector<Value> values(terminator->getOperands().begin(),
                                terminator->getOperands().end());
  for (Operation &op : main.getBody().front().without_terminator())
    if (reference::exactnessOf(&op) != Exactness::equal ||
        (flushes && llvm::any_of(op.getResultTypes(), isBf16)))
      values.insert(op.result_begin(), op.result_end());
  for (Operation &op : main.getBody().front().without_terminator())
    if (seesBits(&op))
      values.insert(op.operand_begin(), op.operand_end());
  terminator->setOperands(values.getArrayRef());
  main.setType(FunctionType::get(main.getContext(), main.getArgumentTypes(),
                                 TypeRange(values.getArrayRef())));
  main.removeResAttrsAttr();
}

} // namespace

CheckResult random::checkModule(const std::string &path,
                                const CheckOptions &options) {
  CheckResult result;
  auto fail = [&](const Twine &what) {
    result.failure = what.str();
    return result;
  };
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
  auto features =
      codegen::FeatureSet::parse(options.cpu.empty() ? "host" : options.cpu);
  if (!features)
    return fail("there is no feature set '" + options.cpu + "'");
  returnInexact(main, features->hasAvx512Bf16());

  llvm::SmallString<128> complete;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("tenon-random", "mlir", descriptor,
                                         complete))
    return fail("no temporary file can be made");
  llvm::ToolOutputFile file(complete, descriptor); // removed at the end
  module->print(file.os());
  file.os().flush();
  driver::CompileOptions compile;
  compile.input = complete.str().str();
  compile.cpu = options.cpu;
  compile.fuse = options.fuse;
  compile.verifyForms = true;
  compile.threads = options.threads;
  driver::CompileResult compiled = driver::compile(compile);
  if (compiled.code != exitOk)
    return fail("compilation ends with exit code " + Twine(compiled.code));
  runtime::ExecutorOptions running;
  running.threads = options.threads;
  running.flushDenormals = false;
  runtime::Error error;
  auto executor =
      runtime::Executor::loadBytes(std::move(compiled.file), running, error);
  if (!executor || !executor->run(1, error))
    return fail(error.message);
  return Checker(main, *executor, features->hasAvx512Bf16()).run();
}
