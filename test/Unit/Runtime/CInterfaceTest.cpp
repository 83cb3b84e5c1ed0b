//===- CInterfaceTest.cpp - The C interface -------------------------------===//
//
// Everything tenon/runtime.h offers on the sample program, and everything a
// caller can do wrong.
//
//===----------------------------------------------------------------------===//

#include "FailingCalls.h"
#include "SampleProgram.h"

#include "tenon/Format/Safetensors.h"
#include "tenon/runtime.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <new>
#include <thread>
#include <utility>

using namespace tenon;

// Sanitizers bring allocators of their own, and one would find what oneDNN
// leaks when an allocation fails.
#if defined(__has_feature) &&                                                  \
    (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#define TENON_ALLOCATIONS_CAN_FAIL 0
#else
#define TENON_ALLOCATIONS_CAN_FAIL 1
#endif

#if TENON_ALLOCATIONS_CAN_FAIL
// Allocations of this thread until the one that fails; -1 for none.
static thread_local long allocationsLeft = -1;

void *operator new(size_t bytes) {
  if (allocationsLeft == 0)
    throw std::bad_alloc();
  if (allocationsLeft > 0)
    --allocationsLeft;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace {

class CInterface : public testing::Test {
protected:
  void SetUp() override {
    auto bytes = test::sampleFile();
    ASSERT_EQ(tenon_load_bytes(bytes.data(), bytes.size(), nullptr, &program),
              TENON_OK)
        << tenon_error_message();
    folder = std::filesystem::temp_directory_path() /
             ("tenon-c-interface-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override {
    tenon_unload(program);
    std::filesystem::remove_all(folder);
  }
  size_t find(const char *name) {
    size_t tensor = 99;
    EXPECT_EQ(tenon_find_tensor(program, name, &tensor), TENON_OK) << name;
    return tensor;
  }
  /// Zeros in all state, and in the batch, where it is.
  void fillWithZeros() {
    ASSERT_EQ(tenon_initialize_zeros(program), TENON_OK);
    ASSERT_EQ(tenon_mark_written(program, find("x")), TENON_OK);
    ASSERT_EQ(tenon_mark_written(program, find("y")), TENON_OK);
  }
  bool messageHas(const char *text) {
    return std::strstr(tenon_error_message(), text) != nullptr;
  }

  tenon_program *program = nullptr;
  std::filesystem::path folder;
};

} // namespace

TEST_F(CInterface, DescribesTheSignature) {
  ASSERT_EQ(tenon_tensor_count(program), 7u);
  tenon_tensor_info info = TENON_TENSOR_INFO_INIT;
  ASSERT_EQ(tenon_get_tensor(program, find("x"), &info), TENON_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_STREQ(info.type, "F32");
  EXPECT_STREQ(info.role, "batch");
  EXPECT_EQ(info.kind, TENON_BATCH);
  ASSERT_EQ(info.rank, 2u);
  EXPECT_EQ(info.shape[0], test::sampleRows);
  EXPECT_EQ(info.shape[1], test::sampleFeatures);
  EXPECT_EQ(info.bytes, 6144u);
  EXPECT_EQ(info.argument, 2);
  EXPECT_EQ(info.result, -1);
  ASSERT_EQ(tenon_get_tensor(program, find("loss"), &info), TENON_OK);
  EXPECT_EQ(info.kind, TENON_RESULT);
  ASSERT_EQ(tenon_get_tensor(program, find("arg0"), &info), TENON_OK);
  EXPECT_EQ(info.kind, TENON_STATE);
  EXPECT_STREQ(info.role, "parameter");
}

TEST_F(CInterface, WritesRunsAndReads) {
  std::vector<float> x(test::sampleRows * test::sampleFeatures, 0.5f);
  std::vector<float> y(test::sampleRows, 1.0f);
  ASSERT_EQ(tenon_initialize_zeros(program), TENON_OK);
  ASSERT_EQ(tenon_write(program, find("x"), x.data(), x.size() * 4), TENON_OK);
  ASSERT_EQ(tenon_write(program, find("y"), y.data(), y.size() * 4), TENON_OK);
  ASSERT_EQ(tenon_run(program, 1), TENON_OK);
  float loss = 0;
  ASSERT_EQ(tenon_read(program, find("loss"), &loss, 4), TENON_OK);
  EXPECT_EQ(loss, 1.0f); // the weights were zero
  ASSERT_EQ(tenon_run(program, 5), TENON_OK);
  float later = 0;
  ASSERT_EQ(tenon_read(program, find("loss"), &later, 4), TENON_OK);
  EXPECT_LT(later, 0.5f);
  void *data = nullptr;
  ASSERT_EQ(tenon_data(program, find("steps"), &data), TENON_OK);
  EXPECT_EQ(*static_cast<int32_t *>(data), 6);
}

TEST_F(CInterface, BindsTheCallersMemory) {
  alignas(64) float weights[test::sampleFeatures] = {};
  alignas(64) static float x[test::sampleRows * test::sampleFeatures];
  alignas(64) float y[test::sampleRows];
  std::fill(std::begin(x), std::end(x), 0.5f);
  std::fill(std::begin(y), std::end(y), 1.0f);
  ASSERT_EQ(tenon_bind(program, find("params.w"), weights, sizeof(weights)),
            TENON_OK);
  ASSERT_EQ(tenon_bind(program, find("x"), x, sizeof(x)), TENON_OK);
  ASSERT_EQ(tenon_bind(program, find("y"), y, sizeof(y)), TENON_OK);
  int32_t steps = 0;
  ASSERT_EQ(tenon_write(program, find("steps"), &steps, 4), TENON_OK);
  ASSERT_EQ(tenon_run(program, 3), TENON_OK);
  EXPECT_GT(weights[0], 0.0f);
  EXPECT_EQ(tenon_bind(program, find("x"), x + 1, sizeof(x)),
            TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("multiple of 64"));
  EXPECT_EQ(tenon_bind(program, find("x"), x, 4), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_bind(program, find("x"), nullptr, 0), TENON_OK);
}

TEST_F(CInterface, SavesAndLoadsState) {
  std::string path = folder / "state.safetensors";
  std::vector<float> weights(test::sampleFeatures);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = float(i);
  size_t w = find("params.w");
  ASSERT_EQ(tenon_initialize_zeros(program), TENON_OK);
  ASSERT_EQ(tenon_write(program, w, weights.data(), weights.size() * 4),
            TENON_OK);
  ASSERT_EQ(tenon_save_state(program, path.c_str()), TENON_OK)
      << tenon_error_message();
  std::vector<float> zero(weights.size());
  ASSERT_EQ(tenon_write(program, w, zero.data(), zero.size() * 4), TENON_OK);
  ASSERT_EQ(tenon_load_state(program, path.c_str()), TENON_OK)
      << tenon_error_message();
  ASSERT_EQ(tenon_read(program, w, zero.data(), zero.size() * 4), TENON_OK);
  EXPECT_EQ(zero, weights);
  std::string results = folder / "results.safetensors";
  ASSERT_EQ(tenon_save_results(program, results.c_str()), TENON_OK);
  std::string error;
  auto file = format::SafetensorsReader::open(results, error);
  ASSERT_TRUE(file) << error;
  EXPECT_EQ(file->tensors().size(), 3u);
  EXPECT_TRUE(file->find("result2"));
}

TEST_F(CInterface, GoesOnFromCheckpoints) {
  fillWithZeros();
  const size_t w = find("params.w"), loss = find("loss");
  std::vector<float> weights(test::sampleFeatures, 0.5f);
  ASSERT_EQ(tenon_write(program, w, weights.data(), weights.size() * 4),
            TENON_OK);
  const std::string path = folder / "checkpoints";
  tenon_checkpoints *checkpoints = nullptr;
  ASSERT_EQ(tenon_open_checkpoints(path.c_str(), &checkpoints), TENON_OK)
      << tenon_error_message();
  tenon_checkpoints *second = nullptr;
  EXPECT_EQ(tenon_open_checkpoints(path.c_str(), &second), TENON_ERROR_FILE);
  EXPECT_TRUE(messageHas("another run is writing checkpoints"));
  int64_t newest = 0;
  ASSERT_EQ(tenon_newest_checkpoint(checkpoints, &newest), TENON_OK);
  EXPECT_EQ(newest, -1);
  tenon_position position = TENON_POSITION_INIT;
  EXPECT_EQ(tenon_load_checkpoint(checkpoints, program, &position),
            TENON_ERROR_FILE);
  float before = 0, after = 0;
  for (int64_t step = 1; step <= 4; ++step) {
    ASSERT_EQ(tenon_run(program, 1), TENON_OK) << tenon_error_message();
    position.step = step;
    position.batches = 10 * step;
    position.data = step == 3 ? "third" : nullptr;
    if (step == 4)
      ASSERT_EQ(tenon_read(program, loss, &before, sizeof(before)), TENON_OK);
    else
      ASSERT_EQ(tenon_save_checkpoint(checkpoints, program, &position, 2),
                TENON_OK)
          << tenon_error_message();
  }
  EXPECT_FALSE(std::filesystem::exists(path + "/step-000000001"));
  EXPECT_TRUE(std::filesystem::exists(path + "/step-000000002"));
  position = TENON_POSITION_INIT;
  ASSERT_EQ(tenon_load_checkpoint(checkpoints, program, &position), TENON_OK)
      << tenon_error_message();
  EXPECT_EQ(position.step, 3);
  EXPECT_EQ(position.batches, 30);
  EXPECT_STREQ(position.data, "third");
  EXPECT_STREQ(tenon_checkpoint_notes(checkpoints), "");
  ASSERT_EQ(tenon_run(program, 1), TENON_OK);
  ASSERT_EQ(tenon_read(program, loss, &after, sizeof(after)), TENON_OK);
  EXPECT_EQ(before, after);
  // What is damaged is said, and the one before taken.
  std::ofstream(path + "/step-000000003/run.json") << "{}";
  ASSERT_EQ(tenon_load_checkpoint(checkpoints, program, &position), TENON_OK);
  EXPECT_EQ(position.step, 2);
  EXPECT_EQ(position.data, nullptr);
  EXPECT_NE(std::string(tenon_checkpoint_notes(checkpoints))
                .find("an older checkpoint is taken"),
            std::string::npos);
  position.step = -1;
  EXPECT_EQ(tenon_save_checkpoint(checkpoints, program, &position, 0),
            TENON_ERROR_ARGUMENT);
  position = {0, 0, 0, nullptr};
  EXPECT_EQ(tenon_save_checkpoint(checkpoints, program, &position, 0),
            TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("struct_size"));
  for (tenon_status refused :
       {tenon_save_checkpoint(nullptr, program, &position, 0),
        tenon_save_checkpoint(checkpoints, nullptr, &position, 0),
        tenon_save_checkpoint(checkpoints, program, nullptr, 0),
        tenon_load_checkpoint(checkpoints, program, nullptr),
        tenon_newest_checkpoint(checkpoints, nullptr),
        tenon_open_checkpoints(nullptr, &second)})
    EXPECT_EQ(refused, TENON_ERROR_ARGUMENT);
  tenon_close_checkpoints(checkpoints);
  tenon_close_checkpoints(nullptr);
}

TEST_F(CInterface, SaysThatAStepHasNoSettings) {
  EXPECT_EQ(tenon_set(program, "lr", "1"), TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("'lr' is no setting of this step; it has none"))
      << tenon_error_message();
  EXPECT_EQ(tenon_schedule(program, "x", "constant"), TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("'x' is no setting of this step"));
  EXPECT_EQ(tenon_schedule(program, "lr", "zigzag"), TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("the schedule of 'lr'"));
  EXPECT_EQ(tenon_apply_schedules(program, -1), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_apply_schedules(program, 0), TENON_OK);
  EXPECT_EQ(tenon_set(program, nullptr, "1"), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_schedule(program, "lr", nullptr), TENON_ERROR_ARGUMENT);
}

TEST_F(CInterface, ListsEveryTensorThatDoesNotFit) {
  std::string path = folder / "wrong.safetensors";
  std::vector<float> weights(7, 3.0f);
  std::string error;
  format::TensorBytes tensors[] = {
      {"params.w", ElementType::f32, {7}, std::as_bytes(std::span(weights))}};
  ASSERT_TRUE(format::writeSafetensors(path, tensors, {}, error)) << error;
  EXPECT_EQ(tenon_load_state(program, path.c_str()), TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("'params.w' is f32[7] in the file, expected f32[32]"))
      << tenon_error_message();
  EXPECT_TRUE(messageHas("'steps' is missing, expected i32[]"))
      << tenon_error_message();
  EXPECT_TRUE(messageHas("2 tensors differ"));
  // An argument the file does not hold is no fault here, a wrong one is.
  EXPECT_EQ(tenon_load_arguments(program, path.c_str()), TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("1 tensor differs"));
}

TEST_F(CInterface, LoadsArgumentsByAnyName) {
  std::string path = folder / "arguments.safetensors";
  std::vector<float> weights(test::sampleFeatures, 2.0f),
      y(test::sampleRows, 4.0f);
  std::string error;
  format::TensorBytes tensors[] = {{"state['params']['w']",
                                    ElementType::f32,
                                    {test::sampleFeatures},
                                    std::as_bytes(std::span(weights))},
                                   {"arg3",
                                    ElementType::f32,
                                    {test::sampleRows},
                                    std::as_bytes(std::span(y))},
                                   {"something else",
                                    ElementType::f32,
                                    {test::sampleRows},
                                    std::as_bytes(std::span(y))}};
  ASSERT_TRUE(format::writeSafetensors(path, tensors, {}, error)) << error;
  ASSERT_EQ(tenon_load_arguments(program, path.c_str()), TENON_OK)
      << tenon_error_message();
  std::vector<float> got(test::sampleRows);
  ASSERT_EQ(tenon_read(program, find("y"), got.data(), got.size() * 4),
            TENON_OK);
  EXPECT_EQ(got, y);
}

TEST_F(CInterface, SurvivesWrongUse) {
  size_t tensor;
  float value;
  tenon_program *other = program;
  EXPECT_EQ(tenon_load(nullptr, nullptr, &other), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_load("x", nullptr, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_load("/no/such/file", nullptr, &other), TENON_ERROR_FILE);
  EXPECT_EQ(other, nullptr);
  EXPECT_TRUE(messageHas("/no/such/file"));
  EXPECT_EQ(tenon_load("/tmp", nullptr, &other), TENON_ERROR_FILE);
  EXPECT_EQ(tenon_load_bytes("abc", 3, nullptr, &other), TENON_ERROR_FILE);
  EXPECT_EQ(tenon_find_tensor(program, "nothing", &tensor),
            TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("'nothing'"));
  EXPECT_EQ(tenon_find_tensor(program, nullptr, &tensor), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_find_tensor(nullptr, "x", &tensor), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_read(program, 7, &value, 4), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_read(program, 4, nullptr, 4), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_read(program, 4, &value, 8), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_write(program, 4, nullptr, 4), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_write(nullptr, 4, &value, 4), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_data(program, 4, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_get_tensor(program, 4, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_run(program, -1), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_run(nullptr, 1), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_load_state(program, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_load_state(program, "/no/such/file"), TENON_ERROR_FILE);
  EXPECT_EQ(tenon_mark_written(program, 7), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_mark_written(nullptr, 0), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_initialize_zeros(nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_load_batch(program, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_tensor_count(nullptr), 0u);
  EXPECT_EQ(tenon_unload(nullptr), TENON_OK);
  fillWithZeros();
  EXPECT_EQ(tenon_run(program, 1), TENON_OK);
  EXPECT_EQ(tenon_save_state(program, "/no/such/folder/file"),
            TENON_ERROR_FILE);
}

TEST_F(CInterface, HasTheVersionOfItsHeader) {
  EXPECT_EQ(tenon_version_number(), uint32_t(TENON_VERSION_NUMBER));
  EXPECT_EQ(std::to_string(TENON_VERSION_MAJOR) + "." +
                std::to_string(TENON_VERSION_MINOR) + "." +
                std::to_string(TENON_VERSION_PATCH),
            tenon_version());
}

TEST_F(CInterface, StructsSayHowLargeTheyAre) {
  auto bytes = test::sampleFile();
  tenon_program *other = program;
  tenon_options options = TENON_OPTIONS_INIT;
  options.threads = 1;
  options.prefault = 1;
  ASSERT_EQ(tenon_load_bytes(bytes.data(), bytes.size(), &options, &other),
            TENON_OK)
      << tenon_error_message();
  tenon_unload(other);
  for (uint32_t size : {0u, 4u, uint32_t(sizeof(tenon_options)) - 1}) {
    options.struct_size = size;
    EXPECT_EQ(tenon_load_bytes(bytes.data(), bytes.size(), &options, &other),
              TENON_ERROR_ARGUMENT);
    EXPECT_TRUE(messageHas("struct_size of tenon_options is"))
        << tenon_error_message();
    EXPECT_EQ(other, nullptr);
  }
  // Structs of headers before, behind which is something else.
  options.cublaslt = options.algorithm_cache =
      reinterpret_cast<const char *>(1);
  for (size_t size :
       {offsetof(tenon_options, cublaslt), offsetof(tenon_options, gpu)}) {
    options.struct_size = uint32_t(size);
    ASSERT_EQ(tenon_load_bytes(bytes.data(), bytes.size(), &options, &other),
              TENON_OK)
        << tenon_error_message();
    tenon_unload(other);
    options.cuda_driver = reinterpret_cast<const char *>(1);
  }
  // A later header's struct, with what it has appended off and on.
  struct {
    tenon_options known = TENON_OPTIONS_INIT;
    uint64_t appended = 0; // as long as what it is aligned to: no padding
  } later;
  later.known.struct_size = sizeof(later);
  ASSERT_EQ(tenon_load_bytes(bytes.data(), bytes.size(), &later.known, &other),
            TENON_OK)
      << tenon_error_message();
  tenon_unload(other);
  later.appended = 1;
  EXPECT_EQ(tenon_load_bytes(bytes.data(), bytes.size(), &later.known, &other),
            TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("does not know")) << tenon_error_message();
  options = TENON_OPTIONS_INIT;
  options.ranks = 2;
  EXPECT_EQ(tenon_load_bytes(bytes.data(), bytes.size(), &options, &other),
            TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("for one rank, not for 2")) << tenon_error_message();
  options = TENON_OPTIONS_INIT;
  options.tune = 1;
  EXPECT_EQ(tenon_load_bytes(bytes.data(), bytes.size(), &options, &other),
            TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("only files for GPUs have")) << tenon_error_message();

  struct {
    tenon_tensor_info known = TENON_TENSOR_INFO_INIT;
    uint64_t appended = 99;
  } info;
  info.known.struct_size = sizeof(info);
  ASSERT_EQ(tenon_get_tensor(program, 0, &info.known), TENON_OK);
  EXPECT_EQ(info.known.bytes, test::sampleFeatures * 4);
  EXPECT_EQ(info.appended, 99u);
  info.known.struct_size = 0;
  EXPECT_EQ(tenon_get_tensor(program, 0, &info.known), TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("struct_size of tenon_tensor_info is 0"));
}

TEST_F(CInterface, RefusesToTrainFromNothing) {
  EXPECT_EQ(tenon_run(program, 1), TENON_ERROR_VALUE);
  EXPECT_TRUE(messageHas("4 arguments have no value: 'params.w', 'steps', 'x', "
                         "'y'"))
      << tenon_error_message();
  std::string path = folder / "state.safetensors";
  EXPECT_EQ(tenon_save_state(program, path.c_str()), TENON_ERROR_VALUE);
  EXPECT_FALSE(std::filesystem::exists(path));
  fillWithZeros();
  EXPECT_EQ(tenon_run(program, 1), TENON_OK) << tenon_error_message();
}

TEST_F(CInterface, EndsAtACallThatFails) {
  fillWithZeros();
  std::string path = folder / "state.safetensors";
  ASSERT_EQ(tenon_run(program, 2), TENON_OK);
  ASSERT_EQ(tenon_save_state(program, path.c_str()), TENON_OK);
  failing_calls_fail(4);
  EXPECT_EQ(tenon_run(program, 10), TENON_ERROR_RUN);
  failing_calls_fail(-1);
  EXPECT_TRUE(messageHas("step 4 failed in library_call_0, matrix "
                         "multiplication 48x1x32 f32"))
      << tenon_error_message();
  EXPECT_TRUE(messageHas("oneDNN: out of memory")) << tenon_error_message();
  int32_t steps = 0;
  ASSERT_EQ(tenon_read(program, find("steps"), &steps, 4), TENON_OK);
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(tenon_run(program, 1), TENON_ERROR_VALUE);
  EXPECT_TRUE(messageHas("step 4 failed")) << tenon_error_message();
  EXPECT_EQ(tenon_save_state(program, path.c_str()), TENON_ERROR_VALUE);
  ASSERT_EQ(tenon_load_state(program, path.c_str()), TENON_OK);
  ASSERT_EQ(tenon_run(program, 1), TENON_OK) << tenon_error_message();
  ASSERT_EQ(tenon_read(program, find("steps"), &steps, 4), TENON_OK);
  EXPECT_EQ(steps, 3);
}

TEST_F(CInterface, KeepsMemoryOfGpusApart) {
  size_t w = find("params.w");
  float values[test::sampleFeatures] = {};
  void *place = nullptr;
  uint32_t gpu = 0;
  const std::function<tenon_status()> calls[] = {
      [&] { return tenon_device_data(program, w, &place); },
      [&] { return tenon_bind_device(program, w, values, sizeof(values)); },
      [&] { return tenon_bind_device(program, w, nullptr, 0); },
      [&] {
        return tenon_write_from_device(program, w, values, sizeof(values));
      },
      [&] { return tenon_read_to_device(program, w, values, sizeof(values)); }};
  for (const auto &call : calls) {
    EXPECT_EQ(call(), TENON_ERROR_ARGUMENT);
    EXPECT_TRUE(messageHas("it lies in memory of the process"))
        << tenon_error_message();
  }
  EXPECT_EQ(tenon_cuda_device(program, &gpu, &place), TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("the program runs on a processor"));
  EXPECT_EQ(tenon_write_from_device(program, w, nullptr, sizeof(values)),
            TENON_ERROR_ARGUMENT);
  EXPECT_TRUE(messageHas("the source is null"));
  EXPECT_EQ(tenon_read_to_device(program, w, values, 4), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_device_data(program, 99, &place), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_cuda_device(program, nullptr, &place), TENON_ERROR_ARGUMENT);
}

TEST_F(CInterface, TurnsASecondThreadAway) {
  fillWithZeros();
  size_t w = find("params.w"), found = 0;
  failing_calls_hold(1);
  tenon_status status = TENON_ERROR_INTERNAL;
  std::thread first([&] { status = tenon_run(program, 1); });
  while (failing_calls_held() == 0)
    std::this_thread::yield();
  std::vector<float> values(test::sampleFeatures, 1.0f);
  void *data = nullptr;
  const char *path = "/tmp/state.safetensors";
  for (tenon_status refused :
       {tenon_run(program, 1), tenon_write(program, w, values.data(), 128),
        tenon_read(program, w, values.data(), 128),
        tenon_data(program, w, &data), tenon_mark_written(program, w),
        tenon_bind(program, w, nullptr, 0), tenon_initialize_zeros(program),
        tenon_load_state(program, path), tenon_load_batch(program, path),
        tenon_load_arguments(program, path), tenon_save_state(program, path),
        tenon_save_results(program, path), tenon_unload(program)}) {
    EXPECT_EQ(refused, TENON_ERROR_BUSY);
    EXPECT_TRUE(messageHas("another thread")) << tenon_error_message();
  }
  // What never changes can be asked at any time.
  tenon_tensor_info info = TENON_TENSOR_INFO_INIT;
  EXPECT_EQ(tenon_tensor_count(program), 7u);
  EXPECT_EQ(tenon_get_tensor(program, w, &info), TENON_OK);
  EXPECT_EQ(tenon_find_tensor(program, "x", &found), TENON_OK);
  failing_calls_hold(0);
  first.join();
  EXPECT_EQ(status, TENON_OK);
  EXPECT_EQ(tenon_read(program, w, values.data(), 128), TENON_OK);
}

// Whichever allocation of a call fails, the call ends with a status and a
// message.
#if TENON_ALLOCATIONS_CAN_FAIL
TEST_F(CInterface, EveryFailedAllocationHasAMessage) {
  fillWithZeros();
  auto bytes = test::sampleFile();
  size_t found;
  std::string state = folder / "state.safetensors";
  std::string broken = folder / "broken.safetensors";
  ASSERT_EQ(tenon_save_state(program, state.c_str()), TENON_OK);
  std::string header = R"({"__metadata__":{"a":"b"},"a":{"dtype":"F32",)"
                       R"("shape":[1],"data_offsets":[0,4]},"b":[[]]})";
  uint64_t headerBytes = header.size();
  std::ofstream(broken).write(reinterpret_cast<const char *>(&headerBytes), 8)
      << header << "data";
  std::vector<std::function<tenon_status()>> calls = {
      [&] {
        tenon_program *other = nullptr;
        tenon_status status =
            tenon_load_bytes(bytes.data(), bytes.size(), nullptr, &other);
        EXPECT_EQ(status == TENON_OK, other != nullptr);
        tenon_unload(other);
        return status;
      },
      [&] {
        tenon_status status = tenon_find_tensor(
            program, "there is none of this long name", &found);
        return status == TENON_ERROR_ARGUMENT ? TENON_OK : status;
      },
      [&] {
        long left = std::exchange(allocationsLeft, -1);
        fillWithZeros(); // a run that failed has lost the state
        allocationsLeft = left;
        return tenon_run(program, 1);
      },
      [&] { return tenon_load_state(program, state.c_str()); },
      [&] { return tenon_load_arguments(program, state.c_str()); },
      [&] {
        tenon_status status = tenon_load_batch(program, broken.c_str());
        return status == TENON_ERROR_FILE ? TENON_OK : status;
      },
      [&] { return tenon_save_state(program, state.c_str()); },
      [&] { return tenon_save_results(program, state.c_str()); }};
  for (size_t call = 0; call < calls.size(); ++call) {
    long failed = 0;
    tenon_status status;
    do {
      allocationsLeft = failed++;
      status = calls[call]();
      allocationsLeft = -1;
      if (status != TENON_OK) {
        EXPECT_EQ(status, TENON_ERROR_MEMORY) << call << " " << failed;
        EXPECT_STREQ(tenon_error_message(),
                     "there is not enough memory for the call");
      }
    } while (status != TENON_OK && failed < 100000);
    EXPECT_EQ(status, TENON_OK) << tenon_error_message();
    EXPECT_GT(failed, call == 0 ? 100 : 1);
  }
}
#endif

/// The sample with tensors in two parts, padded, converted and with a copy.
class HeldInterface : public CInterface {
protected:
  void SetUp() override {
    CInterface::SetUp();
    tenon_unload(program);
    auto bytes = test::sampleFile(test::heldIndex());
    ASSERT_EQ(tenon_load_bytes(bytes.data(), bytes.size(), nullptr, &program),
              TENON_OK)
        << tenon_error_message();
  }
};

TEST_F(HeldInterface, ShowsLogicalTensorsAlone) {
  EXPECT_EQ(tenon_tensor_count(program), 7u);
  tenon_tensor_info info = TENON_TENSOR_INFO_INIT;
  ASSERT_EQ(tenon_get_tensor(program, find("loss"), &info), TENON_OK);
  EXPECT_STREQ(info.type, "F32"); // stored as an f64
  EXPECT_EQ(info.bytes, 4u);
  ASSERT_EQ(tenon_get_tensor(program, find("y"), &info), TENON_OK);
  EXPECT_EQ(info.shape[0], test::sampleRows); // padded to 64
  size_t hidden = 0;
  EXPECT_EQ(tenon_find_tensor(program, test::hiddenTensor, &hidden),
            TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_get_tensor(program, 7, &info), TENON_ERROR_ARGUMENT);
}

TEST_F(HeldInterface, CopiesInAndOut) {
  std::vector<float> values(test::sampleFeatures), back(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 1 / float(i + 1);
  size_t bytes = values.size() * 4, w = find("params.w");
  ASSERT_EQ(tenon_write(program, w, values.data(), bytes), TENON_OK);
  ASSERT_EQ(tenon_read(program, w, back.data(), bytes), TENON_OK);
  EXPECT_EQ(back, values);
}

TEST_F(HeldInterface, RefusesAddressesWithTheReason) {
  alignas(64) static char memory[8192];
  for (auto [name, why] :
       {std::pair("params.w", "held in two parts, a bf16 and an i16"),
        {"y", "held padded to f32[64]"},
        {"loss", "held converted to f64"},
        {"x", "a copy of it, laid out as f32[32, 48], would not follow"}}) {
    size_t tensor = find(name);
    tenon_tensor_info info = TENON_TENSOR_INFO_INIT;
    ASSERT_EQ(tenon_get_tensor(program, tensor, &info), TENON_OK);
    void *data = nullptr;
    EXPECT_EQ(tenon_data(program, tensor, &data), TENON_ERROR_ARGUMENT);
    EXPECT_TRUE(messageHas(why)) << tenon_error_message();
    EXPECT_TRUE(messageHas("tenon_write")) << tenon_error_message();
    EXPECT_EQ(tenon_mark_written(program, tensor), TENON_ERROR_ARGUMENT);
    EXPECT_TRUE(messageHas(why)) << tenon_error_message();
    EXPECT_EQ(tenon_bind(program, tensor, memory, info.bytes),
              TENON_ERROR_ARGUMENT);
    EXPECT_TRUE(messageHas(why)) << tenon_error_message();
  }
  void *data = nullptr;
  EXPECT_EQ(tenon_data(program, find("steps"), &data), TENON_OK);
  EXPECT_TRUE(data);
}
