//===- CudaDeviceTest.cpp - A hand-made program on a GPU ------------------===//
//
// A few kernels and a copy in PTX, on the emulated driver, as graphs and in
// loops and conditionals, and what is wrong with a file for GPUs beside its
// kernels.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Writer.h"
#include "tenon/Libraries/Stored.h"
#include "tenon/Runtime/Executor.h"
#include "tenon/Runtime/Trace.h"
#include "tenon/Target/GraphNodes.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;
using namespace tenon::runtime;

namespace {

constexpr std::string_view ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry doubled(.param .u64 from, .param .u64 to) .reqntid 16 {
  .reg .b64 %rd<6>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.b32 %r2, [%rd4];
  add.s32 %r3, %r2, %r2;
  st.global.b32 [%rd5], %r3;
  ret;
}
.visible .entry seven(.param .u64 to) .reqntid 1 {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  mov.b32 %r1, 7;
  st.global.b32 [%rd1], %r1;
  ret;
}
)";

/// As a text of its own: a number counts up to a limit.
constexpr std::string_view countingPtx = R"(
.visible .entry increment(.param .u64 number) .reqntid 1 {
  .reg .b64 %rd<2>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [number];
  ld.global.b32 %r1, [%rd1];
  add.s32 %r2, %r1, 1;
  st.global.b32 [%rd1], %r2;
  ret;
}
.visible .entry below(.param .u64 number, .param .u64 limit, .param .u64 is) .reqntid 1 {
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [number];
  ld.param.u64 %rd2, [limit];
  ld.param.u64 %rd3, [is];
  ld.global.b32 %r1, [%rd1];
  ld.global.b32 %r2, [%rd2];
  setp.lt.s32 %p1, %r1, %r2;
  selp.b32 %r3, 1, 0, %p1;
  st.global.b8 [%rd3], %r3;
  ret;
}
)";

Instruction invoke(uint32_t callee, std::vector<Slice> operands) {
  return {InstructionKind::invoke, callee, 0, std::move(operands)};
}

void addTensor(Index &index, const char *name, int64_t elements,
               int32_t argument, int32_t result, Slice place) {
  index.storages.push_back({ElementType::i32, {elements}, place});
  Tensor &tensor = index.tensors.emplace_back();
  tensor.name = name;
  tensor.type = ElementType::i32;
  tensor.shape = {elements};
  tensor.argument = argument;
  tensor.result = result;
  tensor.held.storages = {uint32_t(index.storages.size()) - 1};
}

/// State doubles in each step; what it was before and a 7 are results.
Index doublingIndex() {
  Index index;
  index.name = "doubling";
  index.deviceClasses = {{"cuda", "sm_80", {}}};
  index.memorySpaces = {{"device"}};
  index.segments = {{"state", SegmentKind::state, 0, 0, 64, 64},
                    {"results", SegmentKind::results, 0, 0, 128, 64},
                    {"temporaries", SegmentKind::temporaries, 0, 0, 64, 64}};
  const Slice state{0, 0, 64}, before{1, 0, 64}, seven{1, 64, 4},
      temporary{2, 0, 64};
  addTensor(index, "x", 16, 0, 0, state);
  addTensor(index, "before", 16, -1, 1, before);
  addTensor(index, "seven", 1, -1, 2, seven);
  index.callees = {{CalleeKind::kernel, "doubled", "twice the state", {0}},
                   {CalleeKind::copy, "copy", "", {0}},
                   {CalleeKind::kernel, "seven", "7"}};
  EntryPoint &step = index.entryPoints.emplace_back();
  step.name = "step";
  step.program.instructions = {
      invoke(1, {state, before}), invoke(0, {state, temporary}),
      invoke(2, {seven}), invoke(1, {temporary, state})};
  step.arguments = {0};
  step.results = {0, 1, 2};
  index.gpuModules = {{"sm_80", 80, 525, 12000, 0, {{1, 16}, {1, 1}}}};
  return index;
}

// What a step of countingIndex() works on.
const Slice number{0, 0, 4}, limit{0, 64, 4}, isBelow{1, 0, 1};
const Instruction increment = invoke(0, {number});

/// The number is what is left of a step with this program.
Index countingIndex(std::vector<Instruction> program) {
  Index index;
  index.name = "counting";
  index.deviceClasses = {{"cuda", "sm_80", {}}};
  index.memorySpaces = {{"device"}};
  index.segments = {{"state", SegmentKind::state, 0, 0, 128, 64},
                    {"temporaries", SegmentKind::temporaries, 0, 0, 64, 64}};
  addTensor(index, "number", 1, 0, 0, number);
  addTensor(index, "limit", 1, 1, 1, limit);
  index.callees = {{CalleeKind::kernel, "increment", "one more", {}},
                   {CalleeKind::kernel, "below", "below the limit", {0, 1}}};
  EntryPoint &step = index.entryPoints.emplace_back();
  step.name = "step";
  step.program.instructions = std::move(program);
  step.arguments = {0, 1};
  step.results = {0, 1};
  index.gpuModules = {{"sm_80", 80, 525, 12000, 0, {{1, 1}, {1, 1}}}};
  return index;
}

/// Increments the number while it is below the limit, or `trips` times.
Instruction countingLoop(int64_t trips, std::vector<Instruction> body) {
  return {InstructionKind::loop,
          0,
          0,
          {isBelow},
          1,
          {{{invoke(1, {number, limit, isBelow})}}, {std::move(body)}},
          trips};
}

std::unique_ptr<Executor> load(const Index &index, std::string_view text,
                               Error &error, std::string_view binary = "") {
  std::vector<SectionBytes> code = {
      {SectionKind::ptx, std::as_bytes(std::span(text))}};
  if (!binary.empty())
    code.push_back({SectionKind::cubin, std::as_bytes(std::span(binary))});
  ExecutorOptions options;
  options.cudaDriver = TENON_EMULATED_CUDA;
  return Executor::loadBytes(write(index, code), options, error);
}

std::vector<int32_t> numbers(const Executor &executor, const char *name) {
  size_t tensor = *executor.findTensor(name);
  std::vector<int32_t> values(bytesOf(executor.index().tensors[tensor]) / 4);
  Error error;
  EXPECT_TRUE(
      executor.read(tensor, std::as_writable_bytes(std::span(values)), error))
      << error.message;
  return values;
}

/// The number behind two steps that start with 0 and this limit; `times` has
/// those of two more.
int32_t countTwice(std::vector<Instruction> program, int32_t limit,
                   std::vector<InstructionTime> *times = nullptr) {
  Error error;
  std::string text(ptx.substr(0, ptx.find(".visible")));
  auto executor = load(countingIndex(std::move(program)),
                       text + std::string(countingPtx), error);
  EXPECT_TRUE(executor) << error.message;
  if (!executor)
    return -1;
  EXPECT_TRUE(executor->initializeZeros(error)) << error.message;
  EXPECT_TRUE(executor->write(*executor->findTensor("limit"),
                              std::as_bytes(std::span(&limit, 1)), error))
      << error.message;
  EXPECT_TRUE(executor->run(2, error)) << error.message;
  int32_t result = numbers(*executor, "number")[0];
  if (times) {
    EXPECT_TRUE(executor->profile(2, *times, error)) << error.message;
  }
  return result;
}

} // namespace

TEST(CudaDevice, ReadsWhetherALoopGoesOn) {
  EXPECT_EQ(countTwice({countingLoop(-1, {increment})}, 5), 5);
  EXPECT_EQ(countTwice({countingLoop(-1, {increment})}, 0), 0);
  // Between graphs, and with a body of two nodes: 1, 3, 5, 7, 8; 9, 10.
  EXPECT_EQ(
      countTwice(
          {increment, countingLoop(-1, {increment, increment}), increment}, 6),
      10);
}

TEST(CudaDevice, CountsTheRoundsOfALoopWithoutItsCondition) {
  // The limit alone would end it before the first round.
  std::vector<InstructionTime> times;
  EXPECT_EQ(countTwice({countingLoop(7, {increment})}, 0, &times), 14);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].runs, 14);
  EXPECT_EQ(countTwice({countingLoop(0, {increment})}, 9), 0);
  EXPECT_EQ(countTwice({countingLoop(9, {})}, 9), 0);
  EXPECT_EQ(
      countTwice({increment, countingLoop(3, {countingLoop(4, {increment})}),
                  increment},
                 0),
      28);
  // More than the nodes of a step.
  EXPECT_EQ(
      countTwice({countingLoop(target::GraphNodes::most + 1, {increment})}, 0),
      2 * (target::GraphNodes::most + 1));
  // A body that is cut itself, by a loop that runs only in the first round.
  EXPECT_EQ(
      countTwice({countingLoop(3, {increment, countingLoop(-1, {increment})})},
                 5),
      5 + 2 + 3);
}

TEST(CudaDevice, ReadsWhichBranchRuns) {
  auto branches = [](Slice selector) {
    return Instruction{InstructionKind::branch,
                       0,
                       0,
                       {selector},
                       1,
                       {{{increment}},
                        {{increment, increment}},
                        {{countingLoop(2, {increment, increment})}}}};
  };
  for (auto [selector, once] :
       {std::pair{0, 1}, {1, 2}, {2, 4}, {3, 4}, {-1, 4}, {256, 4}})
    EXPECT_EQ(countTwice({branches(limit)}, selector), 2 * once) << selector;
  // One byte: 1 while the number is below the limit, then 0.
  Slice byte = isBelow;
  EXPECT_EQ(
      countTwice({invoke(1, {number, limit, isBelow}), branches(byte)}, 1),
      2 + 1);
  std::vector<InstructionTime> times;
  EXPECT_EQ(countTwice({branches(limit)}, 1, &times), 4);
  ASSERT_EQ(times.size(), 5u);
  EXPECT_EQ(times[0].runs, 0);
  EXPECT_EQ(times[1].runs, 2);
  EXPECT_EQ(times[3].runs, 0);
}

TEST(CudaDevice, RepeatsLoopsWhileTheStepIsSmall) {
  constexpr int64_t most = target::GraphNodes::most;
  target::GraphNodes nodes;
  nodes.add();
  EXPECT_TRUE(nodes.repeats(1, most));
  EXPECT_TRUE(nodes.repeats(1, 1));
  EXPECT_TRUE(nodes.repeats(0, INT64_MAX));
  EXPECT_FALSE(nodes.repeats(1, 2));
  EXPECT_FALSE(target::GraphNodes().repeats(2, most / 2 + 2));
  EXPECT_FALSE(target::GraphNodes().repeats(most, INT64_MAX));
}

/// A product of two matrices of four rows and columns, in a graph with a copy
/// of the state before it.
Index productIndex(const libraries::GpuMatmulDescription &description) {
  Index index = doublingIndex();
  index.segments[1].bytes = 192;
  const Slice before{1, 0, 64}, product{1, 128, 64};
  addTensor(index, "product", 16, -1, 3, product);
  index.callees.push_back(libraries::store(description, {}, 0));
  EntryPoint &step = index.entryPoints[0];
  step.program.instructions.push_back(invoke(3, {before, before, product}));
  step.results.push_back(3);
  return index;
}

libraries::GpuMatmulDescription smallProduct() {
  libraries::GpuMatmulDescription d;
  d.m = d.n = d.k = 4;
  d.lhsStrideM = d.rhsStrideK = d.resultStrideM = 4;
  d.lhsStrideK = d.rhsStrideN = d.resultStrideN = 1;
  return d;
}

TEST(CudaDevice, RunsAProductInTheGraph) {
  Error error;
  auto executor = load(productIndex(smallProduct()), ptx, error);
  ASSERT_TRUE(executor) << error.message;
  // Doubled bits of a small f32 count its exponent up: what matters is that the
  // product reads what the copy has written.
  std::vector<float> start(16);
  for (int i = 0; i < 4; ++i)
    start[5 * i] = 1.0f;
  size_t x = *executor->findTensor("x");
  ASSERT_TRUE(executor->write(x, std::as_bytes(std::span(start)), error));
  std::vector<InstructionTime> times;
  ASSERT_TRUE(executor->run(1, error)) << error.message;
  std::vector<float> found(16);
  ASSERT_TRUE(executor->read(*executor->findTensor("product"),
                             std::as_writable_bytes(std::span(found)), error));
  EXPECT_EQ(found, start);
  ASSERT_TRUE(executor->write(x, std::as_bytes(std::span(start)), error));
  ASSERT_TRUE(executor->profile(1, times, error)) << error.message;
  ASSERT_EQ(times.size(), 5u);
  EXPECT_EQ(times[4].name, "gpu_matmul");
  EXPECT_EQ(times[4].what, "matrix multiplication 4x4x4 f32");
  EXPECT_TRUE(times[4].library);
}

/// Why a file does not load whose last call is spoiled.
template <typename Spoil>
static std::string whyNot(Index index, Spoil spoil) {
  spoil(index, index.entryPoints[0].program.instructions.back());
  Error error;
  EXPECT_FALSE(load(index, ptx, error));
  return error.message;
}

static void says(const std::string &message, const char *expected) {
  EXPECT_NE(message.find(expected), std::string::npos) << message;
}

TEST(CudaDevice, SaysWhatIsWrongWithALibraryCall) {
  auto whyNot = [](auto spoil) {
    return ::whyNot(productIndex(smallProduct()), spoil);
  };
  says(whyNot([](Index &, Instruction &call) { call.operands.pop_back(); }),
       "a library call has 2 arguments, expected 3");
  says(whyNot([](Index &, Instruction &call) { call.operands[1].bytes = 60; }),
       "argument 1 of a library call has 60 bytes, it works on 64");
  says(whyNot([](Index &index, Instruction &call) {
         index.segments[1].bytes = 256;
         call.operands[2].offset = 132;
       }),
       "expected a multiple of 64");
  says(whyNot([](Index &index, Instruction &) {
         index.callees[3].attributes[1].text = "bf16";
       }),
       "two operands of f32, of bf16 or of f16, found f32 and bf16");
}

/// The Cholesky factor of the state before a step, which the host computes.
Index factorIndex() {
  Index index = doublingIndex();
  index.segments[1].bytes = 256;
  const Slice before{1, 0, 64}, factor{1, 128, 64}, info{1, 192, 4};
  addTensor(index, "factor", 16, -1, 3, factor);
  libraries::LapackDescription description;
  description.rows = description.columns = 4;
  description.triangle = 'L';
  Callee &callee =
      index.callees.emplace_back(libraries::store(description, {}, 64));
  callee.onHost = true;
  EntryPoint &step = index.entryPoints[0];
  step.program.instructions.push_back(invoke(3, {before, factor, info}));
  step.results.push_back(3);
  return index;
}

TEST(CudaDevice, HasItsHostRunACallInTheGraph) {
  Error error;
  auto executor = load(factorIndex(), ptx, error);
  ASSERT_TRUE(executor) << error.message;
  std::vector<float> start(16), expected(16), found(16);
  for (int i = 0; i < 4; ++i) {
    start[5 * i] = 4.0f;
    expected[5 * i] = 2.0f;
  }
  const size_t x = *executor->findTensor("x"),
               factor = *executor->findTensor("factor");
  std::vector<InstructionTime> times;
  // As a graph, and node by node.
  for (bool isGraph : {true, false}) {
    ASSERT_TRUE(executor->write(x, std::as_bytes(std::span(start)), error));
    ASSERT_TRUE(isGraph ? executor->run(1, error)
                        : executor->profile(1, times, error))
        << error.message;
    std::ranges::fill(found, 0.0f);
    ASSERT_TRUE(executor->read(factor, std::as_writable_bytes(std::span(found)),
                               error));
    EXPECT_EQ(found, expected);
  }
  ASSERT_EQ(times.size(), 5u);
  EXPECT_EQ(times[4].name, "library_call_0");
  EXPECT_EQ(times[4].what, "potrf of 1x4x4x0 f32 (potrf)");
  EXPECT_TRUE(times[4].library);
}

TEST(CudaDevice, SaysWhatIsWrongWithACallOnTheHost) {
  says(whyNot(factorIndex(),
              [](Index &, Instruction &call) {
                call.operands.push_back({2, 0, 64});
              }),
       "a library call has 4 arguments, expected 3");
  says(whyNot(factorIndex(),
              [](Index &, Instruction &call) { call.operands[1].bytes = 60; }),
       "argument 1 of a library call has 60 bytes, it works on 64");
  says(whyNot(factorIndex(),
              [](Index &index, Instruction &) {
                index.callees[3].onHost = false;
              }),
       "it calls LAPACK, which GPUs do not have");
  says(whyNot(
           productIndex(smallProduct()),
           [](Index &index, Instruction &) { index.callees[3].onHost = true; }),
       "cuBLASLt runs on GPUs, not on their host");
}

TEST(CudaDevice, RunsAGraphOfKernelsAndCopies) {
  Error error;
  auto executor = load(doublingIndex(), ptx, error);
  ASSERT_TRUE(executor) << error.message;
  EXPECT_FALSE(executor->run(1, error));
  EXPECT_EQ(error.kind, Failure::value);
  std::vector<int32_t> start(16);
  for (int32_t i = 0; i < 16; ++i)
    start[i] = i + 1;
  size_t x = *executor->findTensor("x");
  ASSERT_TRUE(executor->write(x, std::as_bytes(std::span(start)), error));
  ASSERT_TRUE(executor->run(3, error)) << error.message;
  EXPECT_EQ(numbers(*executor, "x")[15], 16 * 8);
  EXPECT_EQ(numbers(*executor, "before")[15], 16 * 4);
  EXPECT_EQ(numbers(*executor, "seven")[0], 7);
}

/// With machine code for GPUs of this compute capability.
Index withBinary(uint32_t capability) {
  Index index = doublingIndex();
  GpuModule &module = index.gpuModules[0];
  module.architecture = "sm_" + std::to_string(capability);
  module.capability = capability;
  module.assembler = "13.0.88";
  module.binary = 1;
  module.resources = {{10, 0, 0, 0}, {8, 0, 0, 0}};
  return index;
}

// The emulated driver is of compute capability 9.0 and takes no machine code,
// as a driver does that is older than what made it.
TEST(CudaDevice, CompilesWhatTheDriverDoesNotTake) {
  constexpr std::string_view binary = "\177ELF of some kind";
  Error error;
  auto executor = load(withBinary(90), ptx, error, binary);
  ASSERT_TRUE(executor) << error.message;
  std::string why = executor->whyNotBinary();
  EXPECT_NE(why.find("did not take the machine code for sm_90 by ptxas "
                     "13.0.88 and compiled the kernels anew: "),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("the emulated device executes PTX"), std::string::npos)
      << why;
  EXPECT_TRUE(executor->isEmulated());
  ASSERT_TRUE(executor->initializeZeros(error)) << error.message;
  ASSERT_TRUE(executor->run(2, error)) << error.message;
  EXPECT_EQ(numbers(*executor, "seven")[0], 7);

  // Machine code for another major capability is not even tried.
  executor = load(withBinary(80), ptx, error, binary);
  ASSERT_TRUE(executor) << error.message;
  EXPECT_EQ(executor->whyNotBinary(), "");
  // Of the two the later one is taken whose major capability is the GPU's.
  Index both = withBinary(90);
  both.gpuModules.insert(both.gpuModules.begin(), withBinary(80).gpuModules[0]);
  executor = load(both, ptx, error, binary);
  ASSERT_TRUE(executor) << error.message;
  EXPECT_NE(executor->whyNotBinary().find("sm_90"), std::string::npos);
}

TEST(CudaDevice, SaysWhyMachineCodeAloneDoesNotRun) {
  // The driver is too old for the PTX beside it.
  Index index = withBinary(90);
  index.gpuModules[0].cuda = 99000;
  Error error;
  EXPECT_FALSE(load(index, ptx, error, "\177ELF of some kind"));
  EXPECT_EQ(error.kind, Failure::machine);
  EXPECT_NE(error.message.find("the kernels for sm_90 do not load ("),
            std::string::npos)
      << error.message;
  // And what is damaged is no machine code that a driver refuses.
  index = withBinary(90);
  index.gpuModules[0].binary = 7;
  EXPECT_FALSE(load(index, ptx, error, "\177ELF of some kind"));
  EXPECT_EQ(error.kind, Failure::file);
  EXPECT_NE(error.message.find("the code for sm_90 is not there"),
            std::string::npos)
      << error.message;
}

TEST(CudaDevice, TimesEveryNode) {
  Error error;
  auto executor = load(doublingIndex(), ptx, error);
  ASSERT_TRUE(executor) << error.message;
  ASSERT_TRUE(executor->initializeZeros(error)) << error.message;
  std::vector<InstructionTime> times;
  ASSERT_TRUE(executor->profile(2, times, error)) << error.message;
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[0].name, "copy");
  EXPECT_EQ(times[0].what, "64 bytes");
  EXPECT_EQ(times[1].name, "doubled");
  EXPECT_EQ(times[1].runs, 2);
  EXPECT_EQ(numbers(*executor, "seven")[0], 7);
}

TEST(CudaDevice, TracesNodesOneByOne) {
  // Instructions 1 to 3 are a loop with its condition, which is left out, and
  // its body, 4 to 6 one whose condition decides.
  Index index = countingIndex({increment, countingLoop(2, {increment}),
                               countingLoop(-1, {increment}), increment});
  Plan &plan = index.entryPoints[0].plan.emplace();
  for (uint32_t i = 0; i < 8; ++i) {
    plan.texts.push_back("s" + std::to_string(i));
    PlannedOperation &operation = plan.operations.emplace_back();
    operation.begin = operation.end = i;
    operation.source = i;
  }
  Error error;
  std::string text(ptx.substr(0, ptx.find(".visible")));
  auto executor = load(index, text + std::string(countingPtx), error);
  ASSERT_TRUE(executor) << error.message;
  ASSERT_TRUE(executor->initializeZeros(error)) << error.message;
  int32_t limit = 4;
  ASSERT_TRUE(executor->write(*executor->findTensor("limit"),
                              std::as_bytes(std::span(&limit, 1)), error));
  StepTrace trace;
  ASSERT_TRUE(executor->trace(trace, error)) << error.message;
  EXPECT_TRUE(trace.isOneByOne);
  std::vector<std::string> sources;
  for (const TracedSpan &span : trace.spans)
    sources.push_back(trace.operations[span.operation].source);
  EXPECT_EQ(sources, (std::vector<std::string>{"s0", "s3", "s3", "s5", "s6",
                                               "s5", "s7"}));
  EXPECT_EQ(numbers(*executor, "number")[0], 5);
}

/// What the process does for a step: callgrind counts it, see
/// docs/Rationale/GpuKernels.md.
TEST(CudaDevice, LaunchesOneGraphAfterTheOther) {
  Error error;
  std::string text(ptx.substr(0, ptx.find(".visible")));
  auto executor = load(countingIndex({increment}),
                       text + std::string(countingPtx), error);
  ASSERT_TRUE(executor) << error.message;
  ASSERT_TRUE(executor->initializeZeros(error)) << error.message;
  constexpr int steps = 1000;
  for (int step = 0; step < steps; ++step)
    ASSERT_TRUE(executor->run(1, error)) << error.message;
  EXPECT_EQ(numbers(*executor, "number")[0], steps);
}

/// The emulated driver's own function, which the runtime has opened.
template <typename Function>
Function *emulated(const char *name) {
  void *library = dlopen(TENON_EMULATED_CUDA, RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Function *>(dlsym(library, name));
}

/// `sum` is state that the elements of a batch are added to; `total` what it is
/// then. `words` of the batch are looked at, and there are some more.
constexpr std::string_view summingPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 batch, .param .u64 scale, .param .u64 sum) .reqntid 1 {
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  ld.param.u64 %rd1, [batch];
  ld.param.u64 %rd2, [scale];
  ld.param.u64 %rd3, [sum];
  ld.global.b32 %r1, [%rd1+8188];
  ld.global.b32 %r2, [%rd2];
  ld.global.b32 %r3, [%rd3];
  mad.lo.s32 %r4, %r1, %r2, %r3;
  st.global.b32 [%rd3], %r4;
  ret;
}
)";

Index summingIndex() {
  Index index;
  index.name = "summing";
  index.deviceClasses = {{"cuda", "sm_80", {}}};
  index.memorySpaces = {{"device"}};
  index.segments = {{"state", SegmentKind::state, 0, 0, 64, 64},
                    {"batch", SegmentKind::batch, 0, 0, 8256, 64},
                    {"results", SegmentKind::results, 0, 0, 64, 64}};
  const Slice sum{0, 0, 4}, batch{1, 0, 8192}, scale{1, 8192, 4},
      total{2, 0, 4};
  addTensor(index, "sum", 1, 0, 0, sum);
  addTensor(index, "batch", 2048, 1, -1, batch);
  addTensor(index, "scale", 1, 2, -1, scale);
  addTensor(index, "total", 1, -1, 1, total);
  index.callees = {{CalleeKind::kernel, "add", "sum", {0, 1}},
                   {CalleeKind::copy, "copy", "", {0}}};
  EntryPoint &step = index.entryPoints.emplace_back();
  step.name = "step";
  step.program.instructions = {invoke(0, {batch, scale, sum}),
                               invoke(1, {sum, total})};
  step.arguments = {0, 1, 2};
  step.results = {0, 3};
  index.gpuModules = {{"sm_80", 80, 525, 12000, 0, {{1, 1}}}};
  return index;
}

/// Steps one behind the other, in both modes of streams.
class CudaPipeline : public testing::TestWithParam<const char *> {
protected:
  CudaPipeline() {
    setenv("TENON_EMULATED_CUDA_STREAMS", GetParam(), 1);
    if (auto *reset = emulated<void()>("tenonEmulatedCudaReset"))
      reset();
    executor = load(summingIndex(), summingPtx, error);
    EXPECT_TRUE(executor) << error.message;
    EXPECT_TRUE(executor->initializeZeros(error));
  }
  ~CudaPipeline() override {
    executor.reset();
    unsetenv("TENON_EMULATED_CUDA_STREAMS");
    if (auto *reset = emulated<void()>("tenonEmulatedCudaReset"))
      reset();
  }

  void give(int32_t value, int32_t scale) {
    std::vector<int32_t> batch(2048, -1);
    batch.back() = value;
    EXPECT_TRUE(executor->write(*executor->findTensor("batch"),
                                std::as_bytes(std::span(batch)), error))
        << error.message;
    EXPECT_TRUE(executor->write(*executor->findTensor("scale"),
                                std::as_bytes(std::span(&scale, 1)), error))
        << error.message;
  }
  int32_t total() { return numbers(*executor, "total")[0]; }

  Error error;
  std::unique_ptr<Executor> executor;
};

TEST_P(CudaPipeline, GivesEachStepItsBatch) {
  ASSERT_TRUE(executor->runsAhead());
  ASSERT_TRUE(executor->watch({*executor->findTensor("total")}, error));
  give(1, 1);
  ASSERT_TRUE(executor->start(error)) << error.message;
  for (int32_t step = 2, sum = 1; step <= 20; ++step) {
    give(step, 3);
    ASSERT_TRUE(executor->start(error)) << error.message;
    EXPECT_EQ(executor->stepsUnderWay(), 2);
    ASSERT_TRUE(executor->finish(error)) << error.message;
    // Of the step that was finished, though the one behind it may have ended.
    EXPECT_EQ(total(), sum) << step;
    sum += 3 * step;
  }
  ASSERT_TRUE(executor->finish(error)) << error.message;
  EXPECT_EQ(executor->stepsUnderWay(), 0);
  EXPECT_EQ(total(), 1 + 3 * (20 * 21 / 2 - 1));
  EXPECT_EQ(numbers(*executor, "sum")[0], total());
  // Copies of batches run beside steps, which no order of events forbids.
  EXPECT_GE(emulated<uint64_t()>("tenonEmulatedCudaOverlaps")(), 18u);
}

TEST_P(CudaPipeline, LetsTheLastOfSeveralValuesCount) {
  give(1, 1);
  ASSERT_TRUE(executor->start(error)) << error.message;
  for (int32_t value : {70, 80, 10})
    give(value, 1);
  ASSERT_TRUE(executor->start(error)) << error.message;
  for (int32_t value : {700, 100})
    give(value, 1);
  ASSERT_TRUE(executor->finish(error) && executor->finish(error));
  EXPECT_EQ(total(), 11);
  // Given while steps were under way, taken by one that is run alone.
  ASSERT_TRUE(executor->run(1, error)) << error.message;
  EXPECT_EQ(total(), 111);
  give(1000, 1);
  ASSERT_TRUE(executor->start(error) && executor->finish(error));
  EXPECT_EQ(total(), 1111);
}

TEST_P(CudaPipeline, SaysWhatItCannotDo) {
  EXPECT_FALSE(executor->finish(error));
  EXPECT_EQ(error.message, "no step is under way");
  EXPECT_FALSE(executor->start(error));
  EXPECT_EQ(error.kind, Failure::value);
  give(1, 1);
  ASSERT_TRUE(executor->start(error) && executor->start(error));
  EXPECT_FALSE(executor->start(error));
  EXPECT_NE(error.message.find("2 steps are under way, which is the most"),
            std::string::npos);
  EXPECT_FALSE(executor->run(1, error));
  EXPECT_NE(error.message.find("finish them before others run"),
            std::string::npos);
  ASSERT_TRUE(executor->finish(error) && executor->finish(error));
  EXPECT_EQ(total(), 2);
}

INSTANTIATE_TEST_SUITE_P(Both, CudaPipeline, testing::Values("early", "late"),
                         [](const auto &mode) {
                           return std::string(mode.param);
                         });

TEST(CudaDevice, KeepsTensorsOutOfReach) {
  Error error;
  auto executor = load(doublingIndex(), ptx, error);
  ASSERT_TRUE(executor) << error.message;
  size_t x = *executor->findTensor("x");
  EXPECT_TRUE(executor->memory(x).empty());
  alignas(64) static int32_t own[16];
  EXPECT_FALSE(executor->bind(x, own, error));
  EXPECT_NE(error.message.find("it lies in memory of the device"),
            std::string::npos)
      << error.message;
}

/// As doublingIndex(), and what was before waits in memory of the host.
Index waitingIndex() {
  Index index = doublingIndex();
  index.memorySpaces.push_back({"pinned"});
  index.segments.push_back({"waiting", SegmentKind::temporaries, 1, 0, 64, 64});
  const Slice state{0, 0, 64}, before{1, 0, 64}, seven{1, 64, 4},
      temporary{2, 0, 64}, waiting{3, 0, 64};
  auto moved = [](uint32_t queue, Slice from, Slice to) {
    Instruction copy = invoke(1, {from, to});
    copy.queue = queue;
    return copy;
  };
  auto await = [](uint32_t queue) {
    Instruction wait{InstructionKind::wait};
    wait.queue = queue;
    return wait;
  };
  index.entryPoints[0].program.instructions = {moved(2, state, waiting),
                                               invoke(0, {state, temporary}),
                                               await(2),
                                               invoke(1, {temporary, state}),
                                               moved(3, waiting, before),
                                               invoke(2, {seven}),
                                               await(3)};
  return index;
}

TEST(CudaDevice, KeepsValuesInMemoryOfItsHost) {
  Error error;
  auto executor = load(waitingIndex(), ptx, error);
  ASSERT_TRUE(executor) << error.message;
  std::vector<int32_t> start(16, 5);
  size_t x = *executor->findTensor("x");
  ASSERT_TRUE(executor->write(x, std::as_bytes(std::span(start)), error));
  ASSERT_TRUE(executor->run(3, error)) << error.message;
  EXPECT_EQ(numbers(*executor, "x")[15], 5 * 8);
  EXPECT_EQ(numbers(*executor, "before")[15], 5 * 4);
  std::vector<InstructionTime> times;
  ASSERT_TRUE(executor->profile(1, times, error)) << error.message;
  EXPECT_EQ(times.size(), 5u);
  EXPECT_EQ(numbers(*executor, "before")[15], 5 * 8);
  Index wrong = waitingIndex();
  wrong.segments[0].space = 1;
  EXPECT_FALSE(load(wrong, ptx, error));
  EXPECT_NE(error.message.find("in memory of a GPU's host and has other than "
                               "temporaries"),
            std::string::npos)
      << error.message;
}

TEST(CudaDevice, SaysWhatIsWrongWithAFile) {
  auto whyNot = [](auto spoil, std::string_view text = ptx) {
    Index index = doublingIndex();
    spoil(index);
    Error error;
    EXPECT_FALSE(load(index, text, error));
    return error.message;
  };
  auto says = [](const std::string &message, const char *expected) {
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  says(whyNot([](Index &i) { i.gpuModules[0].section = 4; }),
       "the code for sm_80 is not there");
  says(whyNot([](Index &i) { i.gpuModules.clear(); }),
       "it is for GPUs and has no code for them");
  says(whyNot([](Index &i) { i.gpuModules[0].launches.pop_back(); }),
       "says how 1 kernels start, expected 2");
  says(whyNot([](Index &i) { i.gpuModules[0].schedules = {"rows"}; }),
       "names the schedules of 1 kernels, expected 2");
  says(whyNot([](Index &i) { i.gpuModules[0].binary = 0; }),
       "says what 0 kernels take as machine code, expected 2");
  says(whyNot([](Index &i) { i.gpuModules[0].launches[0].threads = 2048; }),
       "starts a kernel in 1 blocks of 2048 threads");
  says(whyNot([](Index &i) { i.callees[0].name = "tripled"; }),
       "there is no 'tripled' in the code for sm_80");
  says(whyNot([](Index &i) {
         i.callees[2].kind = CalleeKind::library;
         i.gpuModules[0].launches.pop_back();
       }),
       "'seven' is no library call");
  says(whyNot([](Index &i) {
         i.callees[2] = libraries::store(libraries::MatmulDescription(),
                                         target::Isa::avx2, 0);
         i.gpuModules[0].launches.pop_back();
       }),
       "it calls oneDNN, which GPUs do not have");
  says(whyNot([](Index &i) {
         i.entryPoints[0].program.instructions[0].queue = 1;
       }),
       "an instruction is for queue 1, which is for collectives");
  says(whyNot([](Index &i) {
         i.entryPoints[0].program.instructions = {
             {InstructionKind::loop, 0, 0, {{1, 64, 1}}, 1, {{}, {}}, -2}};
       }),
       "a loop runs its body -2 times");
  says(whyNot([](Index &i) { i.gpuModules[0].cuda = 99000; }),
       "needs driver 525 or later (CUDA 99.0), the one here has CUDA 13.0");
  says(whyNot([](Index &i) { i.gpuModules[0].capability = 120; }),
       "compile the step again with --target=sm_90");
  says(whyNot([](Index &i) { i.memorySpaces[0].name = "host"; }),
       "the file keeps memory in space 'host', a GPU has only 'device', and "
       "'pinned' of its host");
  says(whyNot([](Index &) {}, ".version 8.0\n.target sm_80\nnonsense\n"),
       "the kernels for sm_80 do not load (");
}

TEST(CudaDevice, EndsTheRunWhenTheGpuFails) {
  std::string broken(ptx);
  size_t store = broken.find("[%rd5]");
  broken.replace(store, 6, "[%rd5+1048576]");
  Error error;
  auto executor = load(doublingIndex(), broken, error);
  ASSERT_TRUE(executor) << error.message;
  ASSERT_TRUE(executor->initializeZeros(error)) << error.message;
  EXPECT_FALSE(executor->run(2, error));
  EXPECT_EQ(error.kind, Failure::run);
  EXPECT_NE(error.message.find("step 1 failed: GPU 0, Tenon emulated"),
            std::string::npos)
      << error.message;
  EXPECT_FALSE(executor->withoutValue().empty());
  // Nothing works after that.
  std::vector<std::byte> bytes(64);
  EXPECT_FALSE(executor->read(*executor->findTensor("x"), bytes, error));
  EXPECT_NE(error.message.find("a copy from the GPU failed"), std::string::npos)
      << error.message;
  // The emulated driver is this process's; others start anew.
}
