//===- Lowered.cpp - Interpreted and compiled steps of lower precision ---===//
//
// The stage `precision` is asked to put into 16 bits whatever may lie there,
// since the values of random programs are too small to be worth it. Each
// operation of the step that it leaves is judged by itself, on what the
// compiled code computed. To see that, the step returns more than it did; so
// the step as it was is compiled, too, and has to give the same bits.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "OnGpu.h"
#include "Random.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Format/Holding.h"
#include "tenon/Import/ReadStableHLO.h"
#include "tenon/Precision/PrecisionRules.h"
#include "tenon/Reference/Compare.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using namespace tenon;
using namespace tenon::random;

namespace {

/// A file that is removed at the end.
class TextFile {
public:
  TextFile(StringRef text, StringRef suffix) {
    int descriptor;
    if (llvm::sys::fs::createTemporaryFile("tenon-random", suffix, descriptor,
                                           path))
      llvm::report_fatal_error("no temporary file can be made");
    file.emplace(path, descriptor);
    file->os() << text;
    file->os().flush();
  }
  std::string name() const { return path.str().str(); }

private:
  llvm::SmallString<128> path;
  std::optional<llvm::ToolOutputFile> file;
};

bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

/// Permits 16 bits to every kind of operation whose results may have them, but
/// not to those that loops add up with, which is an error.
std::string permitAll(ModuleOp simplified, driver::Precision precision) {
  const StringRef narrow = precision == driver::Precision::f16 ? "f16" : "bf16";
  llvm::json::Object kinds;
  simplified.walk<WalkOrder::PreOrder>([&](Operation *op) {
    const precision::PrecisionRule &rule = precision::ruleOf(op);
    if (rule.Operands != precision::keeps && rule.Result == precision::stored &&
        !isa<stablehlo::AddOp, stablehlo::WhileOp>(op) &&
        llvm::any_of(op->getResultTypes(), isF32))
      kinds[op->getName().getStringRef()] = narrow;
    return stablehlo::hasElementRegions(op) ? WalkResult::skip()
                                            : WalkResult::advance();
  });
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(
      llvm::json::Object{{"operations", std::move(kinds)}});
  return text;
}

/// The tensor that an argument or result of a lowered step is, or is a part of.
struct Place {
  size_t tensor = 0;
  size_t part = 0;
};

/// What users do not find by its name.
std::optional<size_t> findHidden(StringRef name,
                                 const runtime::Executor &executor) {
  const auto &tensors = executor.index().tensors;
  for (size_t at = executor.index().visibleTensors(); at < tensors.size(); ++at)
    if (tensors[at].name == name)
      return at;
  return std::nullopt;
}

std::optional<Place> placeOf(DictionaryAttr attributes,
                             const runtime::Executor &executor) {
  auto name = attributes ? attributes.getAs<StringAttr>(step::nameAttrName)
                         : StringAttr();
  if (!name)
    return std::nullopt;
  auto held = step::heldPartOf(attributes);
  StringRef wanted = held ? held->tensor : name.getValue();
  auto tensor = step::isHiddenName(wanted) ? findHidden(wanted, executor)
                                           : executor.findTensor(wanted);
  if (!tensor)
    return std::nullopt;
  return Place{*tensor, held ? size_t(held->part) : 0};
}

/// The value of an argument or result, as the lowered step has it.
reference::Tensor read(const Place &place, Type type,
                       const runtime::Executor &executor) {
  const format::Index &index = executor.index();
  const format::Tensor &tensor = index.tensors[place.tensor];
  std::vector<std::byte> bytes(format::bytesOf(tensor));
  runtime::Error error; // which a processor has none of
  executor.read(place.tensor, bytes, error);
  if (tensor.type != elementTypeOf(getElementTypeOrSelf(type))) {
    std::vector<std::vector<std::byte>> parts;
    for (uint32_t storage : tensor.held.storages)
      parts.emplace_back(bytes.size() / byteWidth(tensor.type) *
                         byteWidth(index.storages[storage].type));
    std::vector<std::span<std::byte>> stored(parts.begin(), parts.end());
    format::writeHeld(index, tensor, tensor.held, bytes, stored);
    bytes = parts[place.part];
  }
  reference::Tensor value(cast<RankedTensorType>(type));
  reference::readBytes(value, bytes.data(),
                       int64_t(bytes.size()) /
                           std::max<int64_t>(1, value.size()));
  return value;
}

/// Gives an argument values that depend on its number alone: floats from -0.5
/// to 0.5, keys any bits, other integers 0 to 3, which every loop and every
/// choice of the programs can take.
void fill(runtime::Executor &executor, size_t number) {
  const format::Tensor &tensor = executor.index().tensors[number];
  std::vector<std::byte> bytes(format::bytesOf(tensor));
  const int64_t width = byteWidth(tensor.type);
  Random random(uint64_t(tensor.argument) + 1);
  for (size_t at = 0; at < bytes.size(); at += size_t(width)) {
    auto put = [&](auto value) {
      std::memcpy(bytes.data() + at, &value, size_t(width));
    };
    if (tensor.type == ElementType::f32)
      put(float(random.bits() >> 40) * 0x1p-24f - 0.5f);
    else if (tensor.role == format::Role::rng)
      put(random.bits());
    else
      put(uint64_t(random.below(4)));
  }
  runtime::Error error; // which a processor has none of
  executor.write(number, bytes, error);
}

/// Compiles a lowered step and runs it once, from the same values each time.
std::unique_ptr<runtime::Executor>
runOnce(ModuleOp lowered, const CheckOptions &options,
        llvm::function_ref<void(const runtime::Executor &)> beforehand,
        std::string &failure) {
  std::string text;
  llvm::raw_string_ostream(text) << lowered;
  TextFile file(text, "mlir");
  driver::CompileOptions compile;
  compile.input = file.name();
  compile.from = "precision";
  compile.verifyForms = true;
  compile.threads = options.threads;
  auto executor = compileAndLoad(compile, runningOptions(options), failure);
  if (!executor)
    return nullptr;
  for (size_t tensor : executor->withoutValue())
    fill(*executor, tensor);
  beforehand(*executor);
  runtime::Error error;
  if (executor->run(1, error))
    return executor;
  failure = error.message;
  return nullptr;
}

} // namespace

CheckResult random::checkLowered(const std::string &path,
                                 const CheckOptions &options,
                                 Subnormals subnormals) {
  CheckResult result;
  auto fail = [&](const Twine &what) {
    result.failure = what.str();
    return result;
  };
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  auto stage = [&](const driver::CompileOptions &compile) {
    driver::CompileResult compiled = driver::compile(compile);
    if (compiled.code != exitOk) {
      result.failure =
          "lowering ends with exit code " + std::to_string(compiled.code);
      return OwningOpRef<ModuleOp>();
    }
    return importer::readFormFile(TextFile(compiled.text, "mlir").name(),
                                  context);
  };
  driver::CompileOptions lowering = compileOptions(options, subnormals);
  lowering.input = path;
  lowering.to = "simplify";
  auto simplified = stage(lowering);
  if (!simplified)
    return result;
  TextFile policy(permitAll(*simplified, options.precision), "json");
  lowering.precision = options.precision;
  lowering.precisionPolicyFile = policy.name();
  lowering.to = "precision";
  auto lowered = stage(lowering);
  if (!lowered)
    return result;

  OwningOpRef<ModuleOp> returning = lowered->clone();
  auto main = returning->lookupSymbol<func::FuncOp>("main");
  llvm::DenseMap<Value, unsigned> returned;
  for (auto [index, value] : llvm::enumerate(valuesToJudge(main)))
    returned[value] =
        step::addVisibleResult(main, value, "judged" + Twine(index));
  Operation *terminator = main.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    returned.try_emplace(value, unsigned(index));

  std::unique_ptr<runtime::Executor> executor;
  auto compiled = [&](Value value) -> std::optional<reference::Tensor> {
    auto place = returned.find(value);
    if (place == returned.end())
      return std::nullopt;
    auto found = placeOf(main.getResultAttrDict(place->second), *executor);
    if (!found)
      return std::nullopt;
    return read(*found, value.getType(), *executor);
  };
  Checker checker(main, subnormals, compiled);
  auto noteArguments = [&](const runtime::Executor &started) {
    for (BlockArgument argument : main.getArguments())
      if (auto place =
              placeOf(main.getArgAttrDict(argument.getArgNumber()), started))
        checker.define(argument, read(*place, argument.getType(), started));
  };
  executor = runOnce(*returning, options, noteArguments, result.failure);
  if (!executor)
    return result;
  auto alone = runOnce(
      *lowered, options, [](auto &) {}, result.failure);
  if (!alone)
    return result;
  result = checker.run();
  auto asItWas = lowered->lookupSymbol<func::FuncOp>("main");
  for (auto [index, type] : llvm::enumerate(asItWas.getResultTypes())) {
    DictionaryAttr attributes = asItWas.getResultAttrDict(unsigned(index));
    auto first = placeOf(attributes, *executor),
         second = placeOf(attributes, *alone);
    if (!first || !second)
      return fail("result " + Twine(index) + " is not found");
    if (auto message = reference::firstDifference(
            read(*second, type, *alone), read(*first, type, *executor), {}))
      result.differences.push_back(
          "result " + std::to_string(index) +
          " depends on what else is returned: " + *message);
  }
  return result;
}
