//===- ValueTest.cpp - Steps run on values that somebody gave -------------===//
//
// What counts as a value of an argument, and what is refused without.
//
//===----------------------------------------------------------------------===//

#include "SampleProblem.h"

#include "tenon/Format/Safetensors.h"
#include "tenon/Runtime/State.h"
#include "tenon/Runtime/Trace.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

enum TensorNumber : size_t { weights, steps, x, y };
using Numbers = std::vector<size_t>;

class Value : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("tenon-value-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// A file with some of the program's tensors.
  std::string fileOf(const Executor &program, const Numbers &tensors) {
    std::vector<format::TensorBytes> bytes;
    for (size_t i : tensors) {
      const format::Tensor &tensor = program.index().tensors[i];
      bytes.push_back(
          {tensor.name, tensor.type, tensor.shape, program.memory(i)});
    }
    std::string path = folder / "some.safetensors";
    EXPECT_TRUE(format::writeSafetensors(path, bytes, {}, error.message))
        << error.message;
    return path;
  }

  std::unique_ptr<Executor> executor = loadSample(1);
  std::filesystem::path folder;
  Error error;
};

} // namespace

TEST_F(Value, NothingRunsBeforeEveryArgumentHasOne) {
  EXPECT_EQ(executor->withoutValue(), Numbers({weights, steps, x, y}));
  std::vector<InstructionTime> times;
  StepTrace trace;
  for (int way = 0; way < 4; ++way) {
    EXPECT_FALSE(way == 0   ? executor->run(1, error)
                 : way == 1 ? executor->profile(1, times, error)
                 : way == 2 ? executor->trace(trace, error)
                            : executor->checkMemory(1, error));
    EXPECT_EQ(error.kind, Failure::value);
    EXPECT_NE(error.message.find("4 arguments have no value: 'params.w', "
                                 "'steps', 'x', 'y'"),
              std::string::npos)
        << error.message;
    EXPECT_EQ(values<int32_t>(*executor, "steps")[0], 0);
  }
  EXPECT_FALSE(saveState(*executor, folder / "state.safetensors", error));
  EXPECT_EQ(error.kind, Failure::value);
  EXPECT_FALSE(std::filesystem::exists(folder / "state.safetensors"));
}

TEST_F(Value, ComesFromFiles) {
  ASSERT_TRUE(loadArguments(*executor, fileOf(*executor, {weights, y}), error))
      << error.message;
  EXPECT_EQ(executor->withoutValue(), Numbers({steps, x}));
  // A file that lacks state is no state, one that lacks a part of the batch no
  // batch.
  EXPECT_FALSE(loadState(*executor, fileOf(*executor, {weights}), error));
  EXPECT_FALSE(loadBatch(*executor, fileOf(*executor, {weights, y}), error));
  EXPECT_NE(error.message.find("'x' is missing, expected f32[48, 32]"),
            std::string::npos)
      << error.message;
  EXPECT_EQ(executor->withoutValue(), Numbers({steps, x}));
  ASSERT_TRUE(loadState(*executor, fileOf(*executor, {weights, steps}), error));
  EXPECT_EQ(executor->withoutValue(), Numbers({x}));
  ASSERT_TRUE(loadBatch(*executor, fileOf(*executor, {x, y}), error));
  EXPECT_EQ(executor->withoutValue(), Numbers());
  EXPECT_TRUE(executor->run(1, error)) << error.message;
}

TEST_F(Value, ComesFromZerosOnRequest) {
  values<int32_t>(*executor, "steps")[0] = 7;
  ASSERT_TRUE(executor->initializeZeros(error)) << error.message;
  EXPECT_EQ(values<int32_t>(*executor, "steps")[0], 0);
  // State alone: a batch of zeros is nobody's start.
  EXPECT_EQ(executor->withoutValue(), Numbers({x, y}));
  EXPECT_TRUE(executor->checkState(error));
}

TEST_F(Value, ComesWithBoundMemory) {
  alignas(64) static float mine[sampleRows * sampleFeatures];
  ASSERT_TRUE(executor->bind(x, mine, error)) << error.message;
  EXPECT_EQ(executor->withoutValue(), Numbers({weights, steps, y}));
  // Own memory has nothing of what was in the caller's.
  ASSERT_TRUE(executor->bind(x, nullptr, error)) << error.message;
  EXPECT_EQ(executor->withoutValue(), Numbers({weights, steps, x, y}));
  // Where it is already, nothing changes.
  executor->markWritten(x);
  ASSERT_TRUE(executor->bind(x, nullptr, error)) << error.message;
  EXPECT_EQ(executor->withoutValue(), Numbers({weights, steps, y}));
}

TEST_F(Value, StaysWhereAFileIsRefused) {
  Problem().fill(*executor);
  std::string path = fileOf(*executor, {weights, steps});
  // A folder in the place of a file is refused before anything is read.
  EXPECT_FALSE(loadState(*executor, folder, error));
  EXPECT_EQ(executor->withoutValue(), Numbers());
  EXPECT_FALSE(loadBatch(*executor, path, error));
  EXPECT_EQ(executor->withoutValue(), Numbers());
}
