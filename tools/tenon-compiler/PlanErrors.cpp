//===- PlanErrors.cpp - tenon plan --error --------------------------------===//
//
// See PlanErrors.h. In every step the twin starts from the state and batch of
// the lowered step, so that what is compared is the error of one step, and
// steps do not drift apart.
//
// The dearest decision of a tensor is the one that, carried out alone in the
// f64 twin, makes the most noise in it. It is found by halves: as errors of
// different decisions add up, a set of them makes at least the noise of each
// one in it, so the noisiest set is split until it is a single decision.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/PlanErrors.h"

#include "tools/tenon-compiler/ErrorStatistics.h"
#include "tools/tenon/Batches.h"

#include "tenon/Driver/ErrorTwins.h"
#include "tenon/Runtime/Scalars.h"
#include "tenon/Runtime/State.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <queue>
#include <set>

using namespace tenon;
using namespace tenon::tool;

namespace {

int fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return exitUserError;
}

std::vector<std::byte> bytesOf(const runtime::Executor &executor,
                               size_t tensor) {
  std::vector<std::byte> bytes(
      format::bytesOf(executor.index().tensors[tensor]));
  runtime::Error error; // which a processor has none of
  executor.read(tensor, bytes, error);
  return bytes;
}

std::vector<double> floatsOf(const runtime::Executor &executor, size_t tensor) {
  ElementType type = executor.index().tensors[tensor].type;
  std::vector<std::byte> bytes = bytesOf(executor, tensor);
  const size_t width = size_t(byteWidth(type));
  std::vector<double> values(bytes.size() / width);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = runtime::readScalar(type, std::span(bytes).subspan(i * width));
  return values;
}

//===----------------------------------------------------------------------===//
// Start values
//===----------------------------------------------------------------------===//

/// Random numbers that depend on seed, argument and element alone: SplitMix64
/// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
uint64_t randomBits(uint64_t seed, uint64_t argument, uint64_t element) {
  uint64_t z = (seed << 48) + (argument << 36) + element;
  z = (z + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// From -1 up to 1, with 24 digits.
float randomFloat(uint64_t bits) { return float(bits >> 40) * 0x1p-23f - 1; }

/// The values that an argument starts with which no file gives: of parameters
/// with rows the usual ones for their width, of other parameters and buffers
/// from 0.5 to 1.5, of optimizer state 0, of the batch from -1 to 1, and
/// integers 0 or 1, which are in the range of every index.
std::vector<std::byte> startValues(const format::Tensor &tensor,
                                   uint64_t seed) {
  std::vector<std::byte> bytes(format::bytesOf(tensor));
  int64_t width = byteWidth(tensor.type);
  uint64_t count = bytes.size() / width;
  bool isMatrix = tensor.shape.size() > 1;
  double rows = 1;
  for (size_t i = 0; i + 1 < tensor.shape.size(); ++i)
    rows *= double(tensor.shape[i]);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = randomBits(seed, tensor.argument, i);
    auto put = [&](auto value) {
      std::memcpy(bytes.data() + i * width, &value, width);
    };
    if (!runtime::takesFraction(tensor.type)) {
      if (tensor.role == format::Role::rng)
        put(bits);
      else if (tensor.role == format::Role::batch)
        put(bits >> 63);
      continue;
    }
    float value = randomFloat(bits);
    switch (tensor.role) {
    case format::Role::batch:
      break;
    case format::Role::parameter:
      value = isMatrix ? value * float(std::sqrt(3 / rows)) : 1 + value / 2;
      break;
    case format::Role::optimizerState:
    case format::Role::counter:
      value = 0;
      break;
    default:
      value = 1 + value / 2;
    }
    if (tensor.type == ElementType::f64)
      put(double(value));
    else if (tensor.type == ElementType::f32)
      put(value);
    else if (tensor.type == ElementType::f16)
      put(_Float16(value));
    else
      put(uint16_t(std::bit_cast<uint32_t>(value) >> 16));
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// A gradient or a result that both programs have.
struct Output {
  std::string name, format;
  size_t inLowered = 0, inExact = 0; // tensors
  ErrorStatistics errors;
  std::string dearest;
};

/// A tensor that a step starts from, in both programs.
struct Argument {
  size_t inLowered, inExact;
};

/// Half-open.
using Decisions = std::pair<int32_t, int32_t>;

class Comparison {
public:
  explicit Comparison(const ErrorRun &asked) : asked(asked) {}

  int run(const driver::CompileOptions &options);

private:
  int load(driver::ErrorTwins &twins);
  void listOutputs(const driver::ErrorTwins &twins);
  int loadStart();
  int compareSteps();
  /// The arguments that the next step of the lowered program starts from, in
  /// the types of the twin.
  std::vector<std::vector<std::byte>> argumentsNow() const;
  /// One step of the twin: what it gives for every output.
  bool runExact(const std::vector<std::vector<std::byte>> &arguments,
                Decisions decisions, std::vector<std::vector<double>> &values);
  bool findDearest(const std::vector<std::vector<std::byte>> &arguments,
                   const std::vector<std::vector<double>> &exact);
  void print(const driver::ErrorTwins &twins) const;

  const ErrorRun &asked;
  std::unique_ptr<runtime::Executor> lowered, exact;
  /// Those that users see, then hidden state that the twin has, too.
  std::vector<Argument> arguments;
  size_t seenArguments = 0;
  size_t firstDecision = 0, lastDecision = 0; // tensors of the twin
  std::vector<Output> outputs;
  size_t gradientCount = 0;
  int32_t decisionCount = 0;
  std::set<Decisions> named;
  std::vector<std::string> invented; // arguments with start values of our own
  int64_t runsLeft = 0;
};

} // namespace

int Comparison::load(driver::ErrorTwins &twins) {
  runtime::Error error;
  lowered = runtime::Executor::loadBytes(std::move(twins.lowered), {}, error);
  if (lowered)
    exact = runtime::Executor::loadBytes(std::move(twins.exact), {}, error);
  if (!exact)
    return fail(error.message);
  const std::vector<format::Tensor> &tensors = lowered->index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].argument >= 0 && !tensors[i].isHidden())
      arguments.push_back({i, *exact->findArgument(tensors[i].argument)});
  seenArguments = arguments.size();
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].isHidden())
      if (auto twin = exact->findTensor(tensors[i].name))
        arguments.push_back({i, *twin});
  firstDecision = *exact->findTensor("__rounding__.first");
  lastDecision = *exact->findTensor("__rounding__.last");
  return exitOk;
}

void Comparison::listOutputs(const driver::ErrorTwins &twins) {
  std::set<int64_t> gradientResults;
  for (const driver::ErrorTwins::Gradient &gradient : twins.gradients) {
    size_t tensor = *lowered->findResult(gradient.inLowered);
    outputs.push_back({"gradient " + gradient.parameter, gradient.format,
                       tensor, *exact->findResult(gradient.inExact)});
    gradientResults.insert(gradient.inLowered);
  }
  gradientCount = outputs.size();
  const std::vector<format::Tensor> &tensors = lowered->index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const format::Tensor &tensor = tensors[i];
    if (tensor.result < 0 || !runtime::takesFraction(tensor.type) ||
        tensor.isHidden() || gradientResults.contains(tensor.result))
      continue;
    outputs.push_back({"result " + tensor.name, std::string(name(tensor.type)),
                       i, *exact->findResult(tensor.result)});
  }
}

int Comparison::loadStart() {
  runtime::Error error;
  if (!asked.state.empty() && !runtime::loadState(*lowered, asked.state, error))
    return fail(error.message);
  if (!asked.inputs.empty() &&
      !runtime::loadArguments(*lowered, asked.inputs, error))
    return fail(error.message);
  if (!lowered->initializeHidden(/*onlyMissing=*/true, error))
    return fail(error.message);
  return exitOk;
}

std::vector<std::vector<std::byte>> Comparison::argumentsNow() const {
  std::vector<std::vector<std::byte>> values;
  for (auto [tensor, inExact] : arguments) {
    if (lowered->index().tensors[tensor].type != ElementType::f32) {
      values.push_back(bytesOf(*lowered, tensor));
      continue;
    }
    std::vector<double> wide = floatsOf(*lowered, tensor);
    auto bytes = std::as_bytes(std::span(wide));
    values.emplace_back(bytes.begin(), bytes.end());
  }
  return values;
}

bool Comparison::runExact(const std::vector<std::vector<std::byte>> &from,
                          Decisions decisions,
                          std::vector<std::vector<double>> &values) {
  runtime::Error error;
  for (size_t i = 0; i < from.size(); ++i)
    exact->write(arguments[i].inExact, from[i], error);
  for (auto [tensor, number] : {std::pair(firstDecision, decisions.first),
                                std::pair(lastDecision, decisions.second)})
    exact->write(tensor, std::as_bytes(std::span(&number, 1)), error);
  if (!exact->run(1, error)) {
    fail(error.message);
    return false;
  }
  values.clear();
  for (const Output &output : outputs)
    values.push_back(floatsOf(*exact, output.inExact));
  return true;
}

bool Comparison::findDearest(const std::vector<std::vector<std::byte>> &from,
                             const std::vector<std::vector<double>> &truth) {
  // Per set of decisions, the noise of every output.
  std::map<Decisions, std::vector<double>> known;
  bool ok = true;
  auto noiseOf = [&](Decisions set) -> const std::vector<double> * {
    auto found = known.find(set);
    if (found == known.end()) {
      if (runsLeft == 0 || !ok)
        return nullptr;
      --runsLeft;
      std::vector<std::vector<double>> values;
      if (!(ok = runExact(from, set, values)))
        return nullptr;
      std::vector<double> noise;
      for (size_t i = 0; i < outputs.size(); ++i)
        noise.push_back(ErrorStatistics::noise(values[i], truth[i]));
      found = known.emplace(set, std::move(noise)).first;
    }
    return &found->second;
  };
  const Decisions all = {0, decisionCount};
  for (size_t i = 0; ok && i < outputs.size(); ++i) {
    const std::vector<double> *whole = noiseOf(all);
    if (!whole || !((*whole)[i] > 0))
      continue;
    const double total = (*whole)[i];
    std::priority_queue<std::pair<double, Decisions>> sets;
    sets.push({total, all});
    auto [noise, set] = sets.top();
    while (set.second - set.first > 1) {
      int32_t middle = (set.first + set.second) / 2;
      const Decisions halves[] = {{set.first, middle}, {middle, set.second}};
      const std::vector<double> *low = noiseOf(halves[0]),
                                *high = noiseOf(halves[1]);
      if (!low || !high)
        break;
      sets.pop();
      sets.push({(*low)[i], halves[0]});
      sets.push({(*high)[i], halves[1]});
      std::tie(noise, set) = sets.top();
    }
    named.insert(set);
    bool isOne = set.second - set.first == 1;
    outputs[i].dearest =
        llvm::formatv("{0:f0} % by {1}{2}", 100 * noise / total,
                      "#" + std::to_string(set.first + 1),
                      isOne ? "" : " to #" + std::to_string(set.second))
            .str();
  }
  return ok;
}

int Comparison::compareSteps() {
  std::string message;
  std::unique_ptr<Batches> batches;
  BatchOptions taken;
  taken.takePath(asked.batches);
  if (!taken.path.empty() &&
      !(batches = Batches::open(taken, *lowered, message)))
    return fail(message);
  for (int64_t step = 0; step < asked.steps; ++step) {
    if (batches && !batches->load(*lowered, step, message))
      return fail(message);
    if (step == 0)
      for (size_t tensor : lowered->withoutValue()) {
        const format::Tensor &missing = lowered->index().tensors[tensor];
        runtime::Error error;
        lowered->write(tensor, startValues(missing, uint64_t(asked.seed)),
                       error);
        invented.push_back(missing.name);
      }
    auto from = argumentsNow();
    std::vector<std::vector<double>> truth;
    if (!runExact(from, {0, 0}, truth))
      return exitUserError;
    runsLeft = asked.searchRuns;
    if (step == 0 && decisionCount && !findDearest(from, truth))
      return exitUserError;
    runtime::Error error;
    if (!lowered->run(1, error))
      return fail(error.message);
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i].errors.add(floatsOf(*lowered, outputs[i].inLowered), truth[i]);
  }
  return exitOk;
}

/// Nothing can be said of a single element.
static std::string biasText(double bias) {
  return std::isnan(bias) ? "-" : llvm::formatv("{0:f2}", bias).str();
}

static std::string decibelText(double decibels) {
  return std::isinf(decibels) && decibels > 0
             ? "exact"
             : llvm::formatv("{0:f2}", decibels).str();
}

void Comparison::print(const driver::ErrorTwins &twins) const {
  llvm::raw_ostream &out = llvm::outs();
  out << llvm::formatv("{0} {1}, each from the state of the lowered one before "
                       "it; exact is the same step in f64\n",
                       asked.steps, asked.steps == 1 ? "step" : "steps");
  if (!invented.empty())
    out << llvm::formatv("{0} of {1} arguments have random start values (seed "
                         "{2}), since no file gives them\n",
                         invented.size(), seenArguments, asked.seed);
  out << llvm::formatv("\n{0,6} {1,9} {2,9} {3,9}  {4,-18} what\n", "format",
                       "SQNR dB", "bias/s.e.", "to zero", "dearest decision");
  for (const Output &output : outputs)
    out << llvm::formatv(
        "{0,6} {1,9} {2,9} {3,7:f3} %  {4,-18} {5}\n", output.format,
        decibelText(output.errors.decibels()), biasText(output.errors.bias()),
        100 * output.errors.shareFlushed(),
        output.dearest.empty() ? "-" : output.dearest, output.name);
  std::vector<double> gradients;
  for (size_t i = 0; i < gradientCount; ++i)
    gradients.push_back(outputs[i].errors.decibels());
  std::ranges::sort(gradients);
  if (!gradients.empty())
    out << llvm::formatv("\n{0} gradients: median {1} dB, least {2} dB\n",
                         gradients.size(),
                         decibelText(gradients[gradients.size() / 2]),
                         decibelText(gradients.front()));
  if (!twins.withoutGradient.empty()) {
    out << llvm::formatv("{0} parameters have no gradient that their update "
                         "shows:\n",
                         twins.withoutGradient.size());
    for (const std::string &parameter : twins.withoutGradient)
      out << "  " << parameter << "\n";
  }
  if (!named.empty())
    out << llvm::formatv("\nof {0} decisions to round, carried out alone:\n",
                         decisionCount);
  std::set<int32_t> listed;
  for (Decisions set : named)
    for (int32_t i = set.first; i < set.second; ++i)
      if (listed.insert(i).second)
        out << llvm::formatv("{0,5}  {1}\n", "#" + std::to_string(i + 1),
                             twins.decisions[i]);
}

int Comparison::run(const driver::CompileOptions &options) {
  driver::ErrorTwins twins;
  if (ExitCode code = driver::compileErrorTwins(options, twins); code != exitOk)
    return code;
  decisionCount = int32_t(twins.decisions.size());
  if (int code = load(twins))
    return code;
  listOutputs(twins);
  if (int code = loadStart())
    return code;
  if (int code = compareSteps())
    return code;
  print(twins);
  return exitOk;
}

int tool::planErrors(const driver::CompileOptions &options,
                     const ErrorRun &run) {
  return Comparison(run).run(options);
}
