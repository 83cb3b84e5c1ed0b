//===- StreamsTest.cpp - Streams of the emulated driver -------------------===//
//
// Copies and fills of two streams, with and without events between them, done
// when they are given and when the process waits.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

using tenon::test::Device;

namespace {

constexpr size_t bytes = 64;

/// Two streams, an event, a place of the device and pinned memory.
class StreamsTest : public testing::TestWithParam<const char *> {
protected:
  StreamsTest() {
    for (CUstream *stream : {&a, &b})
      EXPECT_EQ(cuStreamCreate(stream, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&event, 2), CUDA_SUCCESS);
    place = device.allocate(bytes);
    for (uint8_t **memory : {&pinned, &other}) {
      void *pointer = nullptr;
      EXPECT_EQ(cuMemHostAlloc(&pointer, bytes, 0), CUDA_SUCCESS);
      *memory = static_cast<uint8_t *>(pointer);
      memset(pointer, 0, bytes);
    }
  }
  ~StreamsTest() override {
    cuEventDestroy_v2(event);
    cuStreamDestroy_v2(a);
    cuStreamDestroy_v2(b);
  }

  void fill(uint8_t value, CUstream stream) {
    EXPECT_EQ(cuMemsetD8Async(place, value, bytes, stream), CUDA_SUCCESS);
  }
  void copyOut(CUstream stream) {
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(pinned, place, bytes, stream), CUDA_SUCCESS);
  }
  bool isLate() const { return GetParam() == std::string("late"); }
  static void expectRace() {
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_NE(
        std::string(tenonEmulatedCudaError()).find("race between streams: "),
        std::string::npos)
        << tenonEmulatedCudaError();
  }

  Device device{{{"STREAMS", GetParam()}}};
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  CUdeviceptr place = 0;
  uint8_t *pinned = nullptr, *other = nullptr;
};

TEST_P(StreamsTest, FindsRacesOfStreams) {
  fill(1, a);
  copyOut(b);
  expectRace();
}

TEST_P(StreamsTest, EventsOrderStreams) {
  fill(1, a);
  EXPECT_EQ(cuEventRecord(event, a), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(b, event, 0), CUDA_SUCCESS);
  copyOut(b);
  EXPECT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
  EXPECT_EQ(pinned[bytes - 1], 1);
  EXPECT_EQ(tenonEmulatedCudaOverlaps(), 0u);
}

TEST_P(StreamsTest, EventsDoNotOrderWhatComesBehindThem) {
  EXPECT_EQ(cuEventRecord(event, a), CUDA_SUCCESS);
  fill(1, a);
  EXPECT_EQ(cuStreamWaitEvent(b, event, 0), CUDA_SUCCESS);
  copyOut(b);
  expectRace();
}

TEST_P(StreamsTest, WaitsOfTheProcessOrderStreams) {
  fill(1, a);
  EXPECT_EQ(cuEventRecord(event, a), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  fill(2, b);
  EXPECT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
  copyOut(a);
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(pinned[0], 2);
  EXPECT_EQ(tenonEmulatedCudaOverlaps(), 0u);
}

TEST_P(StreamsTest, FindsRacesBehindAWaitForAnother) {
  // What is given before the process waits is not ordered by that.
  fill(1, a);
  fill(1, a);
  EXPECT_EQ(cuEventRecord(event, b), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  copyOut(b);
  expectRace();
}

TEST_P(StreamsTest, CountsWhatMayOverlap) {
  CUdeviceptr beside = device.allocate(bytes);
  fill(1, a);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(beside, pinned, bytes, b), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(tenonEmulatedCudaOverlaps(), 1u);
}

TEST_P(StreamsTest, DoesPinnedCopiesWhenTheProcessWaits) {
  pinned[0] = 1;
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(place, pinned, bytes, a), CUDA_SUCCESS);
  pinned[0] = 2; // too early
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(other, place, bytes, a), CUDA_SUCCESS);
  EXPECT_EQ(other[0], isLate() ? 0 : 1); // too early
  EXPECT_EQ(cuStreamQuery(a), isLate() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(a), CUDA_SUCCESS);
  EXPECT_EQ(other[0], isLate() ? 2 : 1);
  // Other memory is the process's again when the call returns.
  uint8_t own[bytes] = {3}, back[bytes] = {};
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(place, own, bytes, a), CUDA_SUCCESS);
  own[0] = 4;
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(back, place, bytes, a), CUDA_SUCCESS);
  EXPECT_EQ(back[0], 3);
}

TEST_P(StreamsTest, TimesNothingThatIsUnderWay) {
  float milliseconds = -1;
  CUevent end = nullptr;
  EXPECT_EQ(cuEventCreate(&end, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, end),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(event, a), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(end, a), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, end),
            isLate() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, end), CUDA_SUCCESS);
  EXPECT_EQ(milliseconds, 0);
  EXPECT_EQ(cuEventDestroy_v2(end), CUDA_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Both, StreamsTest, testing::Values("early", "late"),
                         [](const auto &mode) {
                           return std::string(mode.param);
                         });

} // namespace
