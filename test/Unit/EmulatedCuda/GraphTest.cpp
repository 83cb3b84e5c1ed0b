//===- GraphTest.cpp - Graphs run in an order that the edges allow --------===//

#include "Device.h"

using namespace tenon::test;

namespace {

/// Kernel, copy and fill of one block over the byte range [begin, end) of a
/// buffer.
class GraphTest : public testing::Test {
protected:
  Device device;
  CUdeviceptr buffer = device.upload(std::vector<uint8_t>(4096));
  CUdeviceptr other = device.upload(std::vector<uint8_t>(4096, 9));
  CUgraph graph = nullptr;
  CUfunction writer = device.load(
      kernel("add.s64 %rd20, %rd0, %rd1;\ncvt.u64.u32 %rd21, %r0;\nadd.s64 "
             "%rd20, %rd20, %rd21;\n"
             "cvt.u16.u64 %rs1, %rd2;\nst.global.b8 [%rd20], %rs1;"));
  CUfunction reader =
      device.load(kernel("add.s64 %rd20, %rd0, %rd1;\ncvt.u64.u32 %rd21, "
                         "%r0;\nadd.s64 %rd20, %rd20, %rd21;\n"
                         "ld.global.b8 %rs1, [%rd20];"));

  void SetUp() override { ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS); }
  void TearDown() override { cuGraphDestroy(graph); }

  CUgraphNode launch(CUfunction function, unsigned begin, unsigned count,
                     unsigned value, std::vector<CUgraphNode> after) {
    CUdeviceptr parameters[] = {buffer, begin, value, 0};
    void *pointers[] = {&parameters[0], &parameters[1], &parameters[2],
                        &parameters[3]};
    CUDA_KERNEL_NODE_PARAMS what{
        function, 1, 1, 1, count, 1, 1, 0, pointers, nullptr, nullptr, nullptr};
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph, after.data(), after.size(),
                                      &what),
              CUDA_SUCCESS);
    return node;
  }
  CUgraphNode fillNode(unsigned begin, unsigned count, unsigned value,
                       std::vector<CUgraphNode> after) {
    CUDA_MEMSET_NODE_PARAMS what{buffer + begin, 0, value, 1, count, 1};
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, after.data(), after.size(),
                                   &what, nullptr),
              CUDA_SUCCESS);
    return node;
  }
  CUgraphNode copyNode(unsigned begin, unsigned count,
                       std::vector<CUgraphNode> after) {
    CUgraphNodeParams what{};
    what.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    CUDA_MEMCPY3D &copy = what.memcpy.copyParams;
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = other;
    copy.dstDevice = buffer + begin;
    copy.WidthInBytes = count;
    copy.Height = copy.Depth = 1;
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddNode(&node, graph, after.data(), after.size(), &what),
              CUDA_SUCCESS);
    return node;
  }
  std::string run() {
    CUgraphExec executable = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
    CUresult result = cuStreamSynchronize(nullptr);
    cuGraphExecDestroy(executable);
    EXPECT_EQ(result != CUDA_SUCCESS, *tenonEmulatedCudaError() != 0);
    return tenonEmulatedCudaError();
  }
};

TEST_F(GraphTest, NodesRunAfterTheirPredecessors) {
  CUgraphNode first = fillNode(0, 64, 1, {});
  CUgraphNode second = launch(writer, 0, 32, 2, {first});
  CUgraphNode third = copyNode(0, 16, {second});
  launch(reader, 0, 64, 0, {third});
  EXPECT_EQ(run(), "");
  auto bytes = device.download<uint8_t>(buffer, 64);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(bytes[i], i < 16 ? 9 : i < 32 ? 2 : 1);
}

/// Two nodes over ranges that overlap by `overlap` bytes, with and without a
/// path.
class GraphRace
    : public GraphTest,
      public testing::WithParamInterface<std::tuple<int, int, bool>> {};

TEST_P(GraphRace, IsFound) {
  auto [kind, overlap, path] = GetParam();
  const unsigned begin = 64 - overlap;
  CUgraphNode first =
      kind == 3 ? launch(reader, 0, 64, 0, {}) : launch(writer, 0, 64, 1, {});
  CUgraphNode between;
  EXPECT_EQ(cuGraphAddEmptyNode(&between, graph, &first, 1), CUDA_SUCCESS);
  std::vector<CUgraphNode> after;
  if (path)
    after.push_back(between);
  switch (kind) {
  case 0:
  case 3:
    launch(writer, begin, 64, 2, after);
    break;
  case 1:
    launch(reader, begin, 64, 0, after);
    break;
  case 2:
    fillNode(begin, 64, 3, after);
    break;
  case 4:
    copyNode(begin, 64, after);
    break;
  }
  std::string error = run();
  if (path || overlap == 0)
    EXPECT_EQ(error, "");
  else
    EXPECT_NE(error.find("race between nodes of a graph"), std::string::npos)
        << error;
}

INSTANTIATE_TEST_SUITE_P(Pairs, GraphRace,
                         testing::Combine(testing::Range(0, 5),
                                          testing::Values(0, 1, 2, 7, 64),
                                          testing::Bool()));

/// A function of the host that adds one to each byte of pinned memory, between
/// copies from the GPU and back.
class HostNodes : public GraphTest {
protected:
  static constexpr unsigned count = 64;
  struct Pinned {
    uint8_t *bytes = nullptr;
    CUresult fromCallback = CUDA_SUCCESS;
  } pinned;

  void SetUp() override {
    GraphTest::SetUp();
    void *memory = nullptr;
    ASSERT_EQ(cuMemHostAlloc(&memory, count, 0), CUDA_SUCCESS);
    pinned.bytes = static_cast<uint8_t *>(memory);
  }
  void TearDown() override {
    cuMemFreeHost(pinned.bytes);
    GraphTest::TearDown();
  }

  static void addOne(void *data) {
    for (unsigned i = 0; i < count; ++i)
      ++static_cast<Pinned *>(data)->bytes[i];
  }
  static void callTheDriver(void *data) {
    int devices = 0;
    static_cast<Pinned *>(data)->fromCallback = cuDeviceGetCount(&devices);
  }
  CUgraphNode hostNode(CUhostFn function, std::vector<CUgraphNode> after) {
    CUDA_HOST_NODE_PARAMS what{function, &pinned};
    CUgraphNode node = nullptr;
    EXPECT_EQ(
        cuGraphAddHostNode(&node, graph, after.data(), after.size(), &what),
        CUDA_SUCCESS);
    return node;
  }
  CUgraphNode copyToHost(CUdeviceptr from, std::vector<CUgraphNode> after) {
    return copy(CU_MEMORYTYPE_DEVICE, from, CU_MEMORYTYPE_HOST, 0, after);
  }
  CUgraphNode copyBack(CUdeviceptr to, std::vector<CUgraphNode> after) {
    return copy(CU_MEMORYTYPE_HOST, 0, CU_MEMORYTYPE_DEVICE, to, after);
  }

private:
  CUgraphNode copy(CUmemorytype from, CUdeviceptr source, CUmemorytype to,
                   CUdeviceptr target, const std::vector<CUgraphNode> &after) {
    CUDA_MEMCPY3D what{};
    what.srcMemoryType = from;
    what.dstMemoryType = to;
    what.srcHost = what.dstHost = pinned.bytes;
    what.srcDevice = source;
    what.dstDevice = target;
    what.WidthInBytes = count;
    what.Height = what.Depth = 1;
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph, after.data(), after.size(),
                                   &what, nullptr),
              CUDA_SUCCESS);
    return node;
  }
};

TEST_F(HostNodes, RunBetweenCopies) {
  CUgraphNode there = copyToHost(other, {});
  copyBack(buffer, {hostNode(addOne, {there})});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(run(), "");
  EXPECT_EQ(device.download<uint8_t>(buffer, count),
            std::vector<uint8_t>(count, 10));
}

TEST_F(HostNodes, RaceWithCopiesThatNoPathOrders) {
  CUgraphNode there = copyToHost(other, {});
  hostNode(addOne, {there});
  copyBack(buffer, {there});
  const std::string error = run();
  EXPECT_NE(error.find("race between nodes of a graph"), std::string::npos);
  EXPECT_NE(error.find("function of the host"), std::string::npos) << error;
}

TEST_F(HostNodes, RaceWithEachOther) {
  CUgraphNode there = copyToHost(other, {});
  hostNode(addOne, {there});
  hostNode(addOne, {there});
  EXPECT_NE(run().find("function of the host and function of the host touch"),
            std::string::npos);
}

TEST_F(HostNodes, AreGivenWhatWasWritten) {
  CUgraphNode there = copyToHost(device.allocate(count), {});
  hostNode(addOne, {there});
  EXPECT_NE(run().find("uninitialised: a function of the host"),
            std::string::npos);
}

TEST_F(HostNodes, DoNotCallTheDriver) {
  hostNode(callTheDriver, {});
  EXPECT_NE(run().find("calls the driver"), std::string::npos);
  EXPECT_EQ(pinned.fromCallback, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(HostNodes, RunInStreamsAsWell) {
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(pinned.bytes, other, count, stream),
            CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(stream, addOne, &pinned), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(buffer, pinned.bytes, count, stream),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(device.download<uint8_t>(buffer, count),
            std::vector<uint8_t>(count, 10));
  EXPECT_EQ(cuLaunchHostFunc(stream, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  cuStreamDestroy_v2(stream);
}

} // namespace
