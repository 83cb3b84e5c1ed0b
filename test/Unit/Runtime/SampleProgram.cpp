//===- SampleProgram.cpp - A hand-made .tenon file ------------------------===//
//
// Fills in the index by hand, as Package would.
//
//===----------------------------------------------------------------------===//

#include "SampleProgram.h"

#include "tenon/Format/Writer.h"
#include "tenon/Libraries/Stored.h"

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

enum KernelNumber : uint32_t {
  residualKernel,
  lossKernel,
  updateKernel,
  incrementKernel,
  lessKernel,
  sevenKernel,
  elevenKernel
};

Instruction launch(uint32_t kernel, std::vector<Slice> arguments,
                   uint32_t parts = 1) {
  return {Launch{kernel, std::move(arguments), parts}};
}

Tensor tensor(const char *name, ElementType type, std::vector<int64_t> shape,
              Role role, int32_t argument, int32_t result, Slice storage) {
  Tensor t;
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
  t.storage = storage;
  return t;
}

} // namespace

Index tenon::test::sampleIndex() {
  Index index;
  index.producer = "test";
  index.name = "linear_regression";
  index.cpu = "x86-64-v3";
  index.cpuFeatures = {"avx2", "fma"};
  index.segments = {{SegmentKind::state, 192, 64},
                    {SegmentKind::batch, 6400, 64},
                    {SegmentKind::results, 192, 64},
                    {SegmentKind::temporaries, 4096 + (1 << 20), 4096},
                    {SegmentKind::constants, 256, 64}};
  index.tensors = {
      tensor("params.w", ElementType::f32, {sampleFeatures}, Role::parameter, 0,
             0, weights),
      tensor("steps", ElementType::i32, {}, Role::counter, 1, 1, steps),
      tensor("x", ElementType::f32, {sampleRows, sampleFeatures}, Role::batch,
             2, -1, x),
      tensor("y", ElementType::f32, {sampleRows}, Role::batch, 3, -1, y),
      tensor("loss", ElementType::f32, {}, Role::unknown, -1, 2, loss),
      tensor("inner", ElementType::i32, {}, Role::unknown, -1, 3, inner),
      tensor("choice", ElementType::i32, {}, Role::unknown, -1, 4, choice)};
  index.tensors[0].aliases.push_back("state['params']['w']");
  index.kernels = {{"sample_residual", "prediction - target", false},
                   {"sample_loss", "mean of squares", false},
                   {"sample_update", "gradient descent", false},
                   {"sample_increment", "count", true},
                   {"sample_less", "compare", true},
                   {"sample_seven", "7", true},
                   {"sample_eleven", "11", true}};

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
  index.libraryCalls = {
      libraries::store(forward, libraries::Isa::avx2, workspace.bytes),
      libraries::store(backward, libraries::Isa::avx2, workspace.bytes)};

  EntryPoint &step = index.entryPoints.emplace_back();
  step.name = "step";
  auto &program = step.program.instructions;
  program.push_back({LibraryCall{0, {x, weights, prediction, workspace}}});
  program.push_back(launch(residualKernel, {prediction, y, residual}, 4));
  program.push_back(launch(lossKernel, {residual, loss}));
  program.push_back({LibraryCall{1, {x, residual, gradient, workspace}}});
  program.push_back(launch(updateKernel, {weights, gradient, rate}, 2));
  program.push_back(launch(incrementKernel, {steps}));
  program.push_back({Copy{zero, inner}});
  While loop;
  loop.predicate = predicate;
  loop.condition.instructions = {launch(lessKernel, {inner, limit, predicate})};
  loop.body.instructions = {launch(incrementKernel, {inner})};
  program.push_back({std::move(loop)});
  program.push_back(launch(lessKernel, {steps, three, early}));
  Case conditional;
  conditional.selector = early;
  conditional.branches.resize(2);
  conditional.branches[0].instructions = {launch(sevenKernel, {choice})};
  conditional.branches[1].instructions = {launch(elevenKernel, {choice})};
  program.push_back({std::move(conditional)});
  index.certificates = {{"offsets", "none"}};
  index.flops = 2.0 * 2 * sampleRows * sampleFeatures;
  return index;
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

std::vector<std::byte> tenon::test::sampleFile() {
  auto constantBytes = sampleConstants(), kernelBytes = sampleKernels();
  SectionBytes sections[] = {{SectionKind::constants, constantBytes},
                             {SectionKind::cpuKernels, kernelBytes}};
  return write(sampleIndex(), sections);
}

bool tenon::test::writeSampleFile(const std::string &path, std::string &error) {
  auto constantBytes = sampleConstants(), kernelBytes = sampleKernels();
  SectionBytes sections[] = {{SectionKind::constants, constantBytes},
                             {SectionKind::cpuKernels, kernelBytes}};
  return writeFile(path, sampleIndex(), sections, error);
}
