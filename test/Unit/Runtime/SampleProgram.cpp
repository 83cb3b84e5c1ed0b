//===- SampleProgram.cpp - A hand-made .tenon file ------------------------===//
//
// Fills in the index by hand, as Package would.
//
//===----------------------------------------------------------------------===//

#include "SampleProgram.h"

#include "tenon/Format/AtomicFile.h"
#include "tenon/Format/Writer.h"
#include "tenon/Libraries/Stored.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace tenon;
using namespace tenon::format;

namespace {

enum SegmentNumber : uint32_t { state, batch, results, temporaries, constants };

constexpr uint64_t f = test::sampleFeatures * 4, r = test::sampleRows * 4;

// State.
constexpr Slice weights{state, 0, f}, steps{state, 128, 4};
// Batch.
constexpr Slice x{batch, 0, test::sampleRows * f}, y{batch, 6144, r};
// Results.
constexpr Slice loss{results, 0, 4}, inner{results, 64, 4},
    choice{results, 128, 4};
// Temporaries.
constexpr Slice prediction{temporaries, 0, r}, residual{temporaries, 192, r},
    gradient{temporaries, 384, f}, predicate{temporaries, 512, 1},
    early{temporaries, 576, 1}, workspace{temporaries, 4096, 1 << 20};
// Constants.
constexpr Slice rate{constants, 0, 4}, limit{constants, 64, 4},
    three{constants, 128, 4}, zero{constants, 192, 4};

enum CalleeNumber : uint32_t {
  residualKernel,
  lossKernel,
  updateKernel,
  incrementKernel,
  lessKernel,
  sevenKernel,
  elevenKernel,
  forwardCall,
  backwardCall,
  copyCallee
};

Instruction invoke(uint32_t callee, std::vector<Slice> arguments,
                   uint32_t parts = 1) {
  return {InstructionKind::invoke, callee, 0, std::move(arguments), parts};
}

/// Adds a stored tensor; returns its number.
uint32_t store(Index &index, ElementType type, std::vector<int64_t> shape,
               Slice place) {
  index.storages.push_back({type, std::move(shape), place});
  return uint32_t(index.storages.size() - 1);
}

/// Adds a tensor that is held as it is.
void addTensor(Index &index, const char *name, ElementType type,
               std::vector<int64_t> shape, Role role, int32_t argument,
               int32_t result, Slice place) {
  Tensor &t = index.tensors.emplace_back();
  t.name = name;
  if (argument >= 0)
    t.aliases.push_back("arg" + std::to_string(argument));
  if (result >= 0)
    t.aliases.push_back("result" + std::to_string(result));
  t.type = type;
  t.shape = std::move(shape);
  t.role = role;
  t.argument = argument;
  t.result = result;
  t.held.storages = {store(index, type, t.shape, place)};
}

} // namespace

Index tenon::test::sampleIndex() {
  Index index;
  index.producer = "test";
  index.name = "linear_regression";
  index.deviceClasses = {{"cpu", "x86-64-v3", {"avx2", "fma"}}};
  index.memorySpaces = {{"host"}};
  index.segments = {
      {"state", SegmentKind::state, 0, 0, 192, 64},
      {"batch", SegmentKind::batch, 0, 0, 6400, 64},
      {"results", SegmentKind::results, 0, 0, 192, 64},
      {"temporaries", SegmentKind::temporaries, 0, 0, 4096 + (1 << 20), 4096},
      {"constants", SegmentKind::constants, 0, 0, 256, 64}};
  auto add = [&](auto... what) { addTensor(index, what...); };
  using Shape = std::vector<int64_t>;
  add("params.w", ElementType::f32, Shape{sampleFeatures}, Role::parameter, 0,
      0, weights);
  add("steps", ElementType::i32, Shape{}, Role::counter, 1, 1, steps);
  add("x", ElementType::f32, Shape{sampleRows, sampleFeatures}, Role::batch, 2,
      -1, x);
  add("y", ElementType::f32, Shape{sampleRows}, Role::batch, 3, -1, y);
  add("loss", ElementType::f32, Shape{}, Role::unknown, -1, 2, loss);
  add("inner", ElementType::i32, Shape{}, Role::unknown, -1, 3, inner);
  add("choice", ElementType::i32, Shape{}, Role::unknown, -1, 4, choice);
  index.tensors[0].aliases.push_back("state['params']['w']");
  auto kernel = [&](const char *symbol, const char *what, bool fallback) {
    index.callees.push_back({CalleeKind::kernel, symbol, what, {}, fallback});
  };
  kernel("sample_residual", "prediction - target", false);
  kernel("sample_loss", "mean of squares", false);
  kernel("sample_update", "gradient descent", false);
  kernel("sample_increment", "count", true);
  kernel("sample_less", "compare", true);
  kernel("sample_seven", "7", true);
  kernel("sample_eleven", "11", true);

  libraries::MatmulDescription forward;
  forward.m = sampleRows;
  forward.n = 1;
  forward.k = sampleFeatures;
  forward.lhsStrideM = sampleFeatures;
  forward.lhsStrideK = 1;
  forward.rhsStrideK = 1;
  forward.rhsStrideN = 1;
  forward.resultStrideM = 1;
  forward.resultStrideN = 1;
  forward.pieces = 2;
  libraries::MatmulDescription backward = forward;
  backward.m = sampleFeatures;
  backward.k = sampleRows;
  backward.lhsStrideM = 1;
  backward.lhsStrideK = sampleFeatures;
  backward.pieces = 1;
  // A generous plan: loading must accept a library that needs less.
  index.callees.push_back(
      libraries::store(forward, target::Isa::avx2, workspace.bytes));
  index.callees.push_back(
      libraries::store(backward, target::Isa::avx2, workspace.bytes));
  index.callees.push_back({CalleeKind::copy, "copy", "", {0}});

  EntryPoint &step = index.entryPoints.emplace_back();
  step.name = "step";
  step.arguments = {0, 1, 2, 3};
  step.results = {0, 1, 4, 5, 6};
  auto &program = step.program.instructions;
  program.push_back(invoke(forwardCall, {x, weights, prediction, workspace}));
  program.push_back(invoke(residualKernel, {prediction, y, residual}, 4));
  program.push_back(invoke(lossKernel, {residual, loss}));
  program.push_back(invoke(backwardCall, {x, residual, gradient, workspace}));
  program.push_back(invoke(updateKernel, {weights, gradient, rate}, 2));
  program.push_back(invoke(incrementKernel, {steps}));
  program.push_back(invoke(copyCallee, {zero, inner}));
  program.push_back({InstructionKind::loop,
                     0,
                     0,
                     {predicate},
                     1,
                     {{{invoke(lessKernel, {inner, limit, predicate})}},
                      {{invoke(incrementKernel, {inner})}}}});
  program.push_back(invoke(lessKernel, {steps, three, early}));
  program.push_back({InstructionKind::branch,
                     0,
                     0,
                     {early},
                     1,
                     {{{invoke(sevenKernel, {choice})}},
                      {{invoke(elevenKernel, {choice})}}}});
  step.certificates = {{"offsets", "none"}};
  step.flops = 2.0 * 2 * sampleRows * sampleFeatures;
  return index;
}

Index tenon::test::withoutCalls(Index index) {
  index.callees[forwardCall] = {
      CalleeKind::kernel, "sample_forward", "x w", {0, 1}};
  index.callees[backwardCall] = {
      CalleeKind::kernel, "sample_backward", "x^T residual", {0, 1}};
  for (Instruction &instruction : index.entryPoints[0].program.instructions)
    if (instruction.callee == forwardCall)
      instruction.parts = 3;
  return index;
}

Index tenon::test::heldIndex() {
  constexpr Slice high{state, 0, f / 2}, low{state, 64, f / 2},
      ran{state, 192, 4}, columns{batch, 6400, x.bytes},
      paddedY{batch, 6144, 256}, wideLoss{results, 0, 8};
  Index index = withoutCalls(sampleIndex());
  index.segments[state].bytes = 256;
  index.segments[batch].bytes = columns.offset + columns.bytes;

  // The weights in two parts, y padded, the loss in another type.
  auto hold = [&](size_t tensor, HoldingRule rule,
                  std::vector<Storage> storages) {
    Holding &held = index.tensors[tensor].held;
    held.rule = rule;
    index.storages[held.storages[0]] = storages[0];
    for (size_t i = 1; i < storages.size(); ++i)
      held.storages.push_back(
          store(index, storages[i].type, storages[i].shape, storages[i].place));
  };
  hold(0, HoldingRule::highAndLow,
       {{ElementType::bf16, {sampleFeatures}, high},
        {ElementType::i16, {sampleFeatures}, low}});
  hold(3, HoldingRule::padded, {{ElementType::f32, {64}, paddedY}});
  hold(4, HoldingRule::converted, {{ElementType::f64, {}, wideLoss}});
  // A copy of x by columns.
  index.tensors[2].copies = {
      {HoldingRule::laidOut,
       {store(index, ElementType::f32, {sampleFeatures, sampleRows}, columns)},
       {1, 0}}};
  // Hidden state that starts at 5 and counts steps.
  addTensor(index, hiddenTensor, ElementType::i32, {}, Role::counter, -1, -1,
            ran);

  auto replace = [&](CalleeNumber callee, const char *symbol,
                     std::vector<int64_t> reads, std::vector<Slice> operands) {
    index.callees[callee].name = symbol;
    index.callees[callee].reads = std::move(reads);
    for (Instruction &instruction : index.entryPoints[0].program.instructions)
      if (instruction.kind == InstructionKind::invoke &&
          instruction.callee == callee)
        instruction.operands = operands;
  };
  replace(forwardCall, "sample_forward_parts", {0, 1, 2},
          {x, high, low, prediction});
  replace(backwardCall, "sample_backward_columns", {0, 1},
          {columns, residual, gradient});
  replace(updateKernel, "sample_update_parts", {2, 3},
          {high, low, gradient, rate});
  replace(lossKernel, "sample_loss_wide", {0}, {residual, wideLoss});
  EntryPoint &step = index.entryPoints[0];
  step.program.instructions.push_back(invoke(incrementKernel, {ran}));
  step.arguments = {0, 7, 1, 2, 8, 3, 9};
  step.results = {0, 7, 1, 4, 5, 6, 9};
  EntryPoint &init = index.entryPoints.emplace_back();
  init.name = "init";
  init.results = {9};
  init.program.instructions = {invoke(copyCallee, {limit, ran})};
  return index;
}

Attribute &tenon::test::attribute(Index &index, std::string_view name) {
  return *std::ranges::find(index.callees[forwardCall].attributes, name,
                            &Attribute::name);
}

std::vector<std::byte> tenon::test::sampleConstants() {
  std::vector<std::byte> bytes(256);
  float rateValue = 0.05f;
  int32_t limitValue = 5, threeValue = 3;
  std::memcpy(&bytes[0], &rateValue, 4);
  std::memcpy(&bytes[64], &limitValue, 4);
  std::memcpy(&bytes[128], &threeValue, 4);
  return bytes;
}

std::vector<std::byte> tenon::test::sampleKernels() {
  std::ifstream file(TENON_SAMPLE_KERNELS, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  auto span = std::as_bytes(std::span(bytes));
  return {span.begin(), span.end()};
}

std::vector<std::byte> tenon::test::sampleFile(const Index &index) {
  auto constantBytes = sampleConstants(), kernelBytes = sampleKernels();
  SectionBytes sections[] = {{SectionKind::constants, constantBytes},
                             {SectionKind::cpuKernels, kernelBytes}};
  return write(index, sections);
}

bool tenon::test::writeSampleFile(const std::string &path, const Index &index,
                                  std::string &error) {
  return writeFile(path, sampleFile(index), error);
}
