//===- CInterfaceTest.cpp - The C interface -------------------------------===//
//
// Everything tenon/runtime.h offers on the sample program, and everything a
// caller can do wrong.
//
//===----------------------------------------------------------------------===//

#include "SampleProgram.h"

#include "tenon/Format/Safetensors.h"
#include "tenon/runtime.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

using namespace tenon;

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
  bool messageHas(const char *text) {
    return std::strstr(tenon_error_message(), text) != nullptr;
  }

  tenon_program *program = nullptr;
  std::filesystem::path folder;
};

} // namespace

TEST_F(CInterface, DescribesTheSignature) {
  ASSERT_EQ(tenon_tensor_count(program), 7u);
  tenon_tensor_info info;
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
  ASSERT_EQ(tenon_write(program, find("x"), x.data(), x.size() * 4), TENON_OK);
  ASSERT_EQ(tenon_write(program, find("y"), y.data(), y.size() * 4), TENON_OK);
  ASSERT_EQ(tenon_run(program, 1), TENON_OK);
  float loss = 0;
  ASSERT_EQ(tenon_read(program, find("loss"), &loss, 4), TENON_OK);
  EXPECT_EQ(loss, 1.0f); // weights are zero before the first step
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
  EXPECT_EQ(tenon_save_state(program, "/no/such/folder/file"),
            TENON_ERROR_FILE);
  EXPECT_EQ(tenon_tensor_count(nullptr), 0u);
  tenon_unload(nullptr);
  EXPECT_EQ(tenon_run(program, 1), TENON_OK);
  EXPECT_STRNE(tenon_version(), "");
}
