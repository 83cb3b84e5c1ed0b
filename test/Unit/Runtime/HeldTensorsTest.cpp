//===- HeldTensorsTest.cpp - Tensors held in other forms ------------------===//
//
// The sample program with tensors in two parts, padded, converted and copied
// trains to the bits of the one that holds everything as it is, and each way in
// and out of it gives logical tensors or says why not.
//
//===----------------------------------------------------------------------===//

#include "SampleProblem.h"

#include "tenon/Format/Holding.h"
#include "tenon/Format/Safetensors.h"
#include "tenon/Runtime/State.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

// Tensors, by their number in every form of the sample.
enum : size_t { weights, steps, x, y, loss, inner, choice, hidden };

bool has(const Error &error, const std::string &text) {
  return error.message.find(text) != std::string::npos;
}

std::unique_ptr<Executor> loadIndex(const format::Index &index,
                                    unsigned threads = 2) {
  Error error;
  auto executor = Executor::loadBytes(sampleFile(index), {threads}, error);
  EXPECT_TRUE(executor) << error.message;
  return executor;
}

template <typename T>
std::vector<T> read(const Executor &executor, size_t tensor) {
  std::vector<T> values(format::bytesOf(executor.index().tensors[tensor]) /
                        sizeof(T));
  Error error;
  EXPECT_TRUE(
      executor.read(tensor, std::as_writable_bytes(std::span(values)), error));
  return values;
}

template <typename T>
void write(Executor &executor, size_t tensor, const std::vector<T> &values) {
  Error error;
  EXPECT_TRUE(executor.write(tensor, std::as_bytes(std::span(values)), error));
}

void fill(Executor &executor) {
  Problem problem;
  write(executor, weights, problem.start);
  write(executor, steps, std::vector<int32_t>{0});
  write(executor, x, problem.x);
  write(executor, y, problem.y);
}

class HeldTensors : public testing::Test {
protected:
  HeldTensors() { std::filesystem::create_directories(folder); }
  ~HeldTensors() override { std::filesystem::remove_all(folder); }
  std::string file(const char *name) const { return folder / name; }

  std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                 ("tenon-held-" + std::to_string(getpid()));
  std::unique_ptr<Executor> held = loadIndex(heldIndex());
  Error error;
};

} // namespace

TEST_F(HeldTensors, TrainToTheSameBits) {
  auto plain = loadIndex(withoutCalls(sampleIndex()));
  fill(*plain);
  fill(*held);
  for (int step = 0; step < 20; ++step) {
    ASSERT_TRUE(plain->run(1, error)) << error.message;
    ASSERT_TRUE(held->run(1, error)) << error.message;
    EXPECT_EQ(read<uint32_t>(*held, weights), read<uint32_t>(*plain, weights));
    EXPECT_EQ(read<float>(*held, loss), read<float>(*plain, loss));
    EXPECT_EQ(read<int32_t>(*held, steps), read<int32_t>(*plain, steps));
  }
  EXPECT_NE(read<float>(*held, weights), Problem().start);
}

TEST_F(HeldTensors, AreCheckedInPoisonedMemory) {
  auto checked = loadIndex(heldIndex());
  fill(*held);
  fill(*checked);
  ASSERT_TRUE(held->run(3, error)) << error.message;
  ASSERT_TRUE(checked->checkMemory(3, error)) << error.message;
  for (size_t tensor : {weights, loss, hidden})
    EXPECT_EQ(read<uint32_t>(*held, tensor), read<uint32_t>(*checked, tensor));
}

TEST_F(HeldTensors, AreWrittenWithTheirCopies) {
  fill(*held);
  ASSERT_TRUE(held->run(1, error));
  float before = read<float>(*held, loss)[0];
  // The forward product reads x, the backward one its copy by columns.
  auto plain = loadIndex(withoutCalls(sampleIndex()));
  std::vector<float> other = Problem().x;
  std::ranges::reverse(other);
  for (Executor *executor : {held.get(), plain.get()}) {
    fill(*executor);
    write(*executor, x, other);
    ASSERT_TRUE(executor->run(2, error));
  }
  EXPECT_EQ(read<float>(*held, weights), read<float>(*plain, weights));
  EXPECT_NE(read<float>(*held, loss)[0], before);
}

TEST_F(HeldTensors, AreLoadedWithTheirCopies) {
  auto plain = loadIndex(withoutCalls(sampleIndex()));
  fill(*plain);
  format::TensorBytes batch[] = {bytesOf(*plain, x, "x"),
                                 bytesOf(*plain, y, "y")};
  ASSERT_TRUE(
      format::writeSafetensors(file("batch"), batch, {}, error.message));
  fill(*held);
  write(*held, x, std::vector<float>(Problem().x.size()));
  ASSERT_TRUE(loadBatch(*held, file("batch"), error)) << error.message;
  for (Executor *executor : {held.get(), plain.get()})
    ASSERT_TRUE(executor->run(2, error));
  EXPECT_EQ(read<float>(*held, weights), read<float>(*plain, weights));
}

TEST_F(HeldTensors, AreNotUsedInPlace) {
  EXPECT_EQ(held->whyNotInPlace(weights),
            "it is held in two parts, a bf16 and an i16");
  EXPECT_EQ(held->whyNotInPlace(y), "it is held padded to f32[64]");
  EXPECT_EQ(held->whyNotInPlace(loss), "it is held converted to f64");
  EXPECT_EQ(held->whyNotInPlace(x),
            "a copy of it, laid out as f32[32, 48], would not follow");
  for (size_t tensor : {weights, x, y, loss}) {
    EXPECT_TRUE(held->memory(tensor).empty());
    alignas(64) static std::byte memory[8192];
    EXPECT_FALSE(held->bind(tensor, memory, error));
    EXPECT_EQ(error.kind, Failure::argument);
    EXPECT_TRUE(has(error, held->whyNotInPlace(tensor))) << error.message;
  }
  EXPECT_EQ(held->whyNotInPlace(steps), "");
  EXPECT_EQ(held->memory(steps).size(), 4u);
  alignas(64) int32_t mine[16] = {7};
  ASSERT_TRUE(held->bind(steps, mine, error)) << error.message;
  EXPECT_EQ(read<int32_t>(*held, steps)[0], 7);
}

TEST_F(HeldTensors, StartAtZeroAndAtTheInitialValue) {
  fill(*held);
  ASSERT_TRUE(held->run(3, error));
  ASSERT_TRUE(held->initializeZeros(error)) << error.message;
  EXPECT_EQ(read<float>(*held, weights), std::vector<float>(sampleFeatures));
  EXPECT_EQ(read<int32_t>(*held, steps)[0], 0);
  EXPECT_EQ(read<int32_t>(*held, hidden)[0], 5);
}

TEST_F(HeldTensors, HiddenStateStartsWithItsInitialValue) {
  EXPECT_EQ(read<int32_t>(*held, hidden)[0], 5);
  EXPECT_EQ(held->index().visibleTensors(), 7u);
  EXPECT_FALSE(held->findTensor(hiddenTensor));
  EXPECT_TRUE(held->isState(hidden));
  EXPECT_EQ(held->withoutValue(), (std::vector<size_t>{weights, steps, x, y}));
  fill(*held);
  ASSERT_TRUE(held->run(4, error));
  EXPECT_EQ(read<int32_t>(*held, hidden)[0], 9);
  // And again, if that is what the caller wants.
  ASSERT_TRUE(held->run(1, error, "init")) << error.message;
  EXPECT_EQ(read<int32_t>(*held, hidden)[0], 5);
}

TEST_F(HeldTensors, InitTakesNoValues) {
  EXPECT_FALSE(held->run(1, error));
  EXPECT_TRUE(has(error, "4 arguments have no value: 'params.w', 'steps', 'x', "
                         "'y'"))
      << error.message;
  EXPECT_TRUE(held->run(1, error, "init")) << error.message;
}

TEST_F(HeldTensors, AreSavedAsUsersSeeThem) {
  fill(*held);
  ASSERT_TRUE(held->run(2, error));
  ASSERT_TRUE(saveState(*held, file("state"), error)) << error.message;
  auto saved = format::SafetensorsReader::open(file("state"), error.message);
  ASSERT_TRUE(saved) << error.message;
  ASSERT_EQ(saved->tensors().size(), 3u); // no copies
  const format::StoredTensor *w = saved->find("params.w");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->type, ElementType::f32);
  std::vector<float> values(sampleFeatures);
  ASSERT_TRUE(saved->read(*w, 0, std::as_writable_bytes(std::span(values)),
                          error.message));
  EXPECT_EQ(values, read<float>(*held, weights));
  EXPECT_TRUE(saved->find(hiddenTensor));
  ASSERT_TRUE(saveResults(*held, file("results"), error)) << error.message;
  auto results =
      format::SafetensorsReader::open(file("results"), error.message);
  EXPECT_EQ(results->find("result2")->type, ElementType::f32);
}

TEST_F(HeldTensors, GoOnFromAFile) {
  fill(*held);
  ASSERT_TRUE(held->run(2, error));
  ASSERT_TRUE(saveState(*held, file("state"), error));
  auto other = loadIndex(heldIndex(), 1);
  fill(*other);
  ASSERT_TRUE(loadState(*other, file("state"), error)) << error.message;
  EXPECT_EQ(read<int32_t>(*other, hidden)[0], 7);
  for (Executor *executor : {held.get(), other.get()})
    ASSERT_TRUE(executor->run(3, error));
  for (size_t tensor : {weights, steps, hidden})
    EXPECT_EQ(read<uint32_t>(*held, tensor), read<uint32_t>(*other, tensor));
}

TEST_F(HeldTensors, OneSetOfStoredTensorsLoadsTheFileOfAnother) {
  auto plain = loadIndex(withoutCalls(sampleIndex()));
  fill(*plain);
  fill(*held);
  ASSERT_TRUE(plain->run(2, error));
  ASSERT_TRUE(held->run(2, error));
  ASSERT_TRUE(saveState(*plain, file("plain"), error)) << error.message;
  ASSERT_TRUE(saveState(*held, file("held"), error)) << error.message;
  // What the file lacks starts anew, what the program lacks is left out.
  ASSERT_TRUE(loadState(*held, file("plain"), error)) << error.message;
  EXPECT_EQ(read<int32_t>(*held, hidden)[0], 5);
  ASSERT_TRUE(loadState(*plain, file("held"), error)) << error.message;
  for (Executor *executor : {held.get(), plain.get()})
    ASSERT_TRUE(executor->run(2, error));
  EXPECT_EQ(read<uint32_t>(*held, weights), read<uint32_t>(*plain, weights));
  EXPECT_EQ(read<int32_t>(*held, steps), read<int32_t>(*plain, steps));
}

TEST_F(HeldTensors, HiddenStateOfAnotherKindStartsAnew) {
  fill(*held);
  ASSERT_TRUE(held->run(2, error));
  std::vector<float> values(2, 3.5f);
  format::TensorBytes state[] = {
      bytesOf(*held, weights, "params.w"),
      bytesOf(*held, steps, "steps"),
      {hiddenTensor, ElementType::f32, {2}, std::as_bytes(std::span(values))}};
  ASSERT_TRUE(
      format::writeSafetensors(file("state"), state, {}, error.message));
  ASSERT_TRUE(loadState(*held, file("state"), error)) << error.message;
  EXPECT_EQ(read<int32_t>(*held, hidden)[0], 5);
}

TEST_F(HeldTensors, SomeArgumentsLeaveHiddenStateAlone) {
  fill(*held);
  ASSERT_TRUE(held->run(2, error));
  format::TensorBytes some[] = {bytesOf(*held, y, "y")};
  ASSERT_TRUE(format::writeSafetensors(file("some"), some, {}, error.message));
  ASSERT_TRUE(loadArguments(*held, file("some"), error)) << error.message;
  EXPECT_EQ(read<int32_t>(*held, hidden)[0], 7);
}

TEST_F(HeldTensors, AFileThatDoesNotFitChangesNothing) {
  fill(*held);
  ASSERT_TRUE(held->run(2, error));
  format::TensorBytes some[] = {bytesOf(*held, steps, "steps")};
  ASSERT_TRUE(format::writeSafetensors(file("some"), some, {}, error.message));
  EXPECT_FALSE(loadState(*held, file("some"), error));
  EXPECT_TRUE(has(error, "'params.w' is missing")) << error.message;
  EXPECT_EQ(read<int32_t>(*held, hidden)[0], 7);
}
