//===- CudaQueuesTest.cpp - What runs beside kernels in a CUDA graph ------===//
//
// Copies and collectives of one rank between cells of memory, which the letters
// A to Z name, and a to z in memory of the host, on the emulated driver and the
// emulated NCCL. The edges of graphs are written down on their way to the
// driver, which finds a race where one is left out.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/CudaStep.h"

#include <algorithm>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;
using namespace tenon::runtime;

namespace {

constexpr uint64_t cellBytes = 64;

/// What is added to graphs, each time they are made.
struct Recorder {
  CudaDriverTable driver;
  std::vector<CUgraphNode> nodes;
  std::vector<std::vector<size_t>> edges; // per node: those it comes behind
  size_t count = 0;                       // of all edges
  std::optional<size_t> dropped;          // which of them is left out

  std::vector<CUgraphNode> note(const CUgraphNode *before, size_t number) {
    std::vector<CUgraphNode> kept;
    std::vector<size_t> &behind = edges.emplace_back();
    for (size_t i = 0; i < number; ++i, ++count) {
      behind.push_back(
          size_t(std::ranges::find(nodes, before[i]) - nodes.begin()));
      if (count != dropped)
        kept.push_back(before[i]);
    }
    std::ranges::sort(behind);
    return kept;
  }
} recorder;

CUresult addCopy(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                 size_t count, const CUDA_MEMCPY3D *what, CUcontext context) {
  const auto kept = recorder.note(before, count);
  const CUresult result = recorder.driver.cuGraphAddMemcpyNode(
      node, graph, kept.data(), kept.size(), what, context);
  recorder.nodes.push_back(*node);
  return result;
}

CUresult addCall(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                 size_t count, CUgraph call) {
  const auto kept = recorder.note(before, count);
  const CUresult result = recorder.driver.cuGraphAddChildGraphNode(
      node, graph, kept.data(), kept.size(), call);
  recorder.nodes.push_back(*node);
  return result;
}

Slice cell(char name) {
  const bool isOnHost = name >= 'a';
  return {isOnHost, cellBytes * uint64_t(name - (isOnHost ? 'a' : 'A')),
          cellBytes};
}

/// `copy("AB")` copies A to B.
Instruction copy(const char *cells) {
  return {InstructionKind::invoke, 0, 0, {cell(cells[0]), cell(cells[1])}};
}
Instruction gather(const char *cells, uint32_t queue) {
  return {InstructionKind::invoke, 1, queue, {cell(cells[0]), cell(cells[1])}};
}
Instruction start(const char *cells) { return gather(cells, 1); }
/// `move("Aa")` copies A to memory of the host beside what follows.
Instruction move(const char *cells) {
  Instruction moving = copy(cells);
  moving.queue = cells[0] >= 'a' ? 3 : 2;
  return moving;
}
Instruction await(uint32_t pending, uint32_t queue = 1) {
  Instruction wait{InstructionKind::wait};
  wait.queue = queue;
  wait.pending = pending;
  return wait;
}
/// -1 trips read a predicate in Z.
Instruction loop(int64_t trips, std::vector<Instruction> body) {
  return {InstructionKind::loop,   0,    0, {{0, cell('Z').offset, 1}}, 1,
          {{}, {std::move(body)}}, trips};
}

/// A function of the emulated driver's own.
template <typename Function>
Function *emulated(const char *name) {
  return reinterpret_cast<Function *>(
      dlsym(dlopen(TENON_EMULATED_CUDA, RTLD_LAZY), name));
}
/// After a fault nothing works any more.
void resetDriver() { emulated<void()>("tenonEmulatedCudaReset")(); }

class Orders final : public OperationObserver {
public:
  void begin(size_t) override {}
  void end(size_t) override {}
  void took(size_t operation, double) override { ran.push_back(operation); }
  std::vector<size_t> ran;
};

/// A GPU with cells that hold a letter each, and one rank.
class CudaQueues : public testing::Test {
protected:
  CudaQueues() {
    resetDriver();
    ExecutorOptions options;
    options.cudaDriver = TENON_EMULATED_CUDA;
    gpu = CudaContext::open(options, error);
    EXPECT_TRUE(gpu) << error.message;
    recorder = {.driver = gpu->driver};
    gpu->driver.cuGraphAddMemcpyNode = addCopy;
    gpu->driver.cuGraphAddChildGraphNode = addCall;
    gpu->enter();
    gpu->driver.cuMemAlloc_v2(&cells, 26 * cellBytes);
    gpu->driver.cuMemHostAlloc(&pinned, 26 * cellBytes, /*flags=*/0);
    callees.segmentsOnHost = {false, true};
    callees.described = {{CalleeKind::copy, "copy", "", {0}},
                         {CalleeKind::collective, "gather", "a gather", {0}}};
    callees.kernels.resize(2);
    callees.calls.resize(2);
    libraries::CollectiveDescription description;
    description.kind = libraries::CollectiveKind::allGather;
    description.piece = int64_t(cellBytes / 4);
    description.groups = {{0}};
    callees.collectives = {std::nullopt, description};
    callees.exchange = std::make_unique<CudaCollectives>(
        gpu, ranks.of(0), /*count=*/1, TENON_EMULATED_NCCL);
    callees.hostCalls = std::make_unique<CudaHostCalls>(gpu, Subnormals::flush);
    EXPECT_TRUE(callees.exchange->prepare(description,
                                          libraries::Reducer::ranks, error))
        << error.message;
  }
  ~CudaQueues() override {
    callees = {};
    gpu.reset();
    resetDriver();
  }

  bool take(const std::vector<Instruction> &instructions, Capture &into) {
    for (const Instruction &each : instructions) {
      if (each.kind == InstructionKind::invoke) {
        if (!into.launch(each, error))
          return false;
      } else if (each.kind == InstructionKind::wait) {
        auto event = into.record(each.queue, each.pending, error);
        if (!event)
          return false;
        into.wait(*event);
      } else {
        auto body = [&](const Block &block) {
          return [&](Error &) { return take(block.instructions, into); };
        };
        if (!into.loop(each.operands[0], each.trips, body(each.blocks[0]),
                       body(each.blocks[1]), error))
          return false;
      }
    }
    return true;
  }

  /// Null with `error` filled in if the step is refused.
  std::unique_ptr<CapturedStep>
  capture(const std::vector<Instruction> &instructions) {
    CudaCapture into(gpu, callees);
    if (!take(instructions, into))
      return nullptr;
    auto step = into.finish(error);
    for (size_t slot = 0; step && slot < step->slices().size(); ++slot) {
      const Slice &slice = step->slices()[slot];
      auto *segment = slice.segment == 0 ? reinterpret_cast<std::byte *>(cells)
                                         : static_cast<std::byte *>(pinned);
      step->setPointer(slot, segment + slice.offset);
    }
    return step;
  }

  /// What the cells hold after a step in which each begins with its own name,
  /// or what went wrong.
  std::string run(const std::vector<Instruction> &instructions,
                  OperationObserver *observer = nullptr) {
    auto step = capture(instructions);
    if (!step || !step->update(error))
      return error.message;
    for (char name = 'A'; name <= 'Z'; ++name)
      gpu->driver.cuMemsetD8Async(cells + cell(name).offset,
                                  name == 'Z' ? 0 : uint8_t(name), cellBytes,
                                  gpu->stream);
    if (RunOutcome outcome = step->run(1, 1, observer); outcome.wholeSteps != 1)
      return outcome.whatFailed;
    std::string bytes(26 * cellBytes, 0), names;
    gpu->driver.cuMemcpyDtoHAsync_v2(bytes.data(), cells, bytes.size(),
                                     gpu->stream);
    gpu->driver.cuStreamSynchronize(gpu->stream);
    for (size_t i = 0; i < bytes.size(); i += cellBytes)
      names += bytes[i + cellBytes - 1];
    return names;
  }

  using Edges = std::vector<std::vector<size_t>>;

  Error error;
  std::shared_ptr<CudaContext> gpu;
  ThreadRanks ranks{1};
  CudaCallees callees;
  CUdeviceptr cells = 0;
  void *pinned = nullptr;
};

/// Each edge is there for bytes that both ends touch, or for the communicator.
const std::vector<Instruction> mixed = {
    copy("XA"),      start("AC"), copy("AB"), start("BD"), await(1),
    copy("CA"),      await(0),    copy("DC"), start("CE"), copy("AD"),
    gather("DF", 0), await(0),    copy("FA"), start("AG"), await(0)};
constexpr size_t mixedEdges = 14;

TEST_F(CudaQueues, OrderWhatMustBe) {
  EXPECT_EQ(run(mixed).substr(0, 7), "XXXXXXX");
  EXPECT_EQ(recorder.edges, (Edges{{},
                                   {0},    // a collective
                                   {0},    // beside it
                                   {1, 2}, // a second collective
                                   {1, 2}, // the first is awaited
                                   {3, 4}, // the second, too
                                   {5},    // a third
                                   {5},
                                   {6, 7}, // one in queue 0
                                   {8},
                                   {9}}));
  EXPECT_EQ(recorder.count, mixedEdges);
}

/// A value waits in the host's memory while another takes its place.
const std::vector<Instruction> waiting = {copy("XA"),  move("Aa"),  copy("AB"),
                                          await(0, 2), copy("YA"),  move("aC"),
                                          copy("AD"),  await(0, 3), copy("CD")};
constexpr size_t waitingEdges = 8;

TEST_F(CudaQueues, LetValuesWaitInMemoryOfTheHost) {
  EXPECT_EQ(run(waiting).substr(0, 4), "YXXX");
  EXPECT_EQ(recorder.edges, (Edges{{},
                                   {0}, // to the host
                                   {0}, // beside it
                                   {1, 2},
                                   {3}, // and back
                                   {3}, // beside it
                                   {4, 5}}));
  EXPECT_EQ(recorder.count, waitingEdges);
}

TEST_F(CudaQueues, MoveOneValueAfterTheOther) {
  EXPECT_EQ(run({move("Aa"), move("Bb"), await(1, 2), copy("XA"), await(0, 2),
                 copy("XB"), move("aC"), move("bD"), await(0, 3)})
                .substr(0, 4),
            "XXAB");
  EXPECT_EQ(recorder.edges, (Edges{{}, {0}, {0}, {1, 2}, {3}, {3, 4}}));
}

TEST_F(CudaQueues, MoveBothWaysAtOnce) {
  EXPECT_EQ(run({move("Aa"), await(0, 2), move("aC"), move("Bb"), start("DE"),
                 await(0, 2), await(0, 3), await(0), copy("CB")})
                .substr(0, 5),
            "AAADD");
  EXPECT_EQ(recorder.edges, (Edges{{}, {0}, {0}, {0}, {0, 1, 2, 3}}));
}

TEST_F(CudaQueues, MoveInOrderWhenNodesAreTimed) {
  Orders orders;
  EXPECT_EQ(run(waiting, &orders).substr(0, 4), "YXXX");
  EXPECT_EQ(orders.ran, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6}));
}

/// One test for each, since a fault stays.
class CudaQueuesWithout : public CudaQueues,
                          public testing::WithParamInterface<size_t> {};

TEST_P(CudaQueuesWithout, AnEdgeRace) {
  const bool isMixed = GetParam() < mixedEdges;
  recorder.dropped = isMixed ? GetParam() : GetParam() - mixedEdges;
  const std::string said = run(isMixed ? mixed : waiting);
  EXPECT_NE(said.find("reports"), std::string::npos) << said;
  const std::string text = emulated<const char *()>("tenonEmulatedCudaError")();
  EXPECT_NE(text.find("race between nodes of a graph"), std::string::npos)
      << text;
}

INSTANTIATE_TEST_SUITE_P(All, CudaQueuesWithout,
                         testing::Range<size_t>(0, mixedEdges + waitingEdges));

TEST_F(CudaQueues, RepeatLoopsInTheirGraph) {
  EXPECT_EQ(run({start("XE"),
                 loop(2, {start("AC"), copy("YB"), await(0), copy("CA")}),
                 await(0), copy("EF")})
                .substr(0, 6),
            "AYADXX");
  EXPECT_EQ(recorder.edges, (Edges{{},
                                   {0}, // the first round
                                   {},
                                   {1, 2},
                                   {3}, // the second
                                   {3},
                                   {4, 5},
                                   {6}}));
}

TEST_F(CudaQueues, EndWithTheirGraph) {
  // The host reads a predicate while the first is under way.
  EXPECT_EQ(run({start("XA"), loop(-1, {}), start("YB"), await(1), copy("AC"),
                 await(0), copy("BD")})
                .substr(0, 4),
            "XYXY");
  EXPECT_EQ(recorder.edges, (Edges{{}, {}, {}, {1, 2}}));
}

TEST_F(CudaQueues, AreOneWhenNodesAreTimed) {
  Orders orders;
  EXPECT_EQ(run(mixed, &orders).substr(0, 7), "XXXXXXX");
  EXPECT_EQ(orders.ran,
            (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST_F(CudaQueues, AreRefusedWhereBytesAreNotAwaited) {
  auto why = [&](std::vector<Instruction> instructions) {
    EXPECT_FALSE(capture(instructions));
    return error.message;
  };
  const std::string damaged = "the file is damaged: ";
  const std::string touched = damaged + "an instruction touches bytes of a "
                                        "collective, a gather, that is not "
                                        "awaited yet";
  EXPECT_EQ(why({start("AB"), copy("BC"), await(0)}), touched);
  EXPECT_EQ(why({start("AB"), copy("CA"), await(0)}), touched);
  EXPECT_EQ(why({start("AB"), start("CD"), await(1), copy("DE"), await(0)}),
            touched);
  EXPECT_EQ(why({start("AZ"), loop(-1, {}), await(0)}), touched);
  EXPECT_EQ(why({start("AB"), loop(3, {await(0), copy("BC")}), await(0)}),
            touched);
  EXPECT_EQ(why({move("Aa"), copy("XA"), await(0, 2)}),
            damaged + "an instruction touches bytes of a copy that is not "
                      "awaited yet");
  EXPECT_EQ(why({move("Aa"), move("aB"), await(0, 2), await(0, 3)}),
            damaged + "an instruction touches bytes of a copy that is not "
                      "awaited yet");
  EXPECT_EQ(why({loop(3, {start("AB")})}),
            damaged + "a block ends before a collective, a gather, that it has "
                      "started");
  EXPECT_EQ(why({move("Aa"), await(0, 3)}),
            damaged + "the program ends before a copy that it has started");
}

TEST_F(CudaQueues, AreRefusedForOtherWork) {
  auto why = [&](Instruction instruction, uint32_t queue) {
    instruction.queue = queue;
    EXPECT_FALSE(capture({instruction}));
    return error.message.substr(error.message.find(": ") + 2);
  };
  EXPECT_EQ(why(copy("AB"), 1),
            "an instruction is for queue 1, which is for collectives");
  EXPECT_EQ(why(gather("AB", 0), 2),
            "an instruction is for queue 2, which is for copies");
  EXPECT_EQ(why(gather("AB", 0), 4),
            "an instruction is for queue 4, there are 0, and 1 for "
            "collectives, 2 and 3 for copies");
  EXPECT_EQ(why(copy("aB"), 2),
            "a copy in queue 2 is not one to memory of the host");
  EXPECT_EQ(why(copy("AB"), 3),
            "a copy in queue 3 is not one from memory of the host");
  EXPECT_EQ(why(copy("ab"), 0), "a copy is within memory of the host");
  EXPECT_EQ(why(gather("aB", 0), 0),
            "an instruction that is no copy is given memory of the host");
}

} // namespace
