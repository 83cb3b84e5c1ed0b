//===- CudaDeviceTest.cpp - A hand-made program on a GPU ------------------===//
//
// Two kernels and a copy in PTX, on the emulated driver, and what is wrong with
// a file for GPUs beside its kernels.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Writer.h"
#include "tenon/Runtime/Executor.h"

#include <cstring>
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

std::unique_ptr<Executor> load(const Index &index, std::string_view text,
                               Error &error) {
  SectionBytes code{SectionKind::ptx, std::as_bytes(std::span(text))};
  ExecutorOptions options;
  options.cudaDriver = TENON_EMULATED_CUDA;
  return Executor::loadBytes(write(index, {&code, 1}), options, error);
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

} // namespace

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
  says(whyNot([](Index &i) { i.gpuModules[0].launches[0].threads = 2048; }),
       "starts a kernel in 1 blocks of 2048 threads");
  says(whyNot([](Index &i) { i.callees[0].name = "tripled"; }),
       "there is no 'tripled' in the code for sm_80");
  says(whyNot([](Index &i) {
         i.callees[2].kind = CalleeKind::library;
         i.gpuModules[0].launches.pop_back();
       }),
       "which GPUs do not have");
  says(whyNot([](Index &i) {
         i.entryPoints[0].program.instructions[0].queue = 1;
       }),
       "an instruction is for queue 1, a GPU has only 0");
  says(whyNot([](Index &i) {
         i.entryPoints[0].program.instructions = {
             {InstructionKind::loop, 0, 0, {{1, 64, 1}}, 1, {{}, {}}}};
       }),
       "the file has a loop, which GPUs do not run yet");
  says(whyNot([](Index &i) {
         i.entryPoints[0].program.instructions = {
             {InstructionKind::branch, 0, 0, {{1, 64, 4}}, 1, {{}}}};
       }),
       "the file has a conditional, which GPUs do not run yet");
  says(whyNot([](Index &i) { i.gpuModules[0].cuda = 99000; }),
       "needs driver 525 or later (CUDA 99.0), the one here has CUDA 13.0");
  says(whyNot([](Index &i) { i.gpuModules[0].capability = 120; }),
       "compile the step again with --target=sm_90");
  says(whyNot([](Index &i) { i.memorySpaces[0].name = "host"; }),
       "the file keeps memory in space 'host', a GPU has only 'device'");
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
