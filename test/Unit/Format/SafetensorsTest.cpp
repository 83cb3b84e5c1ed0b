//===- SafetensorsTest.cpp - safetensors files ----------------------------===//
//
// There and back, every rule of the format, and every byte damaged.
//
//===----------------------------------------------------------------------===//

#include "TemporaryFolder.h"

#include "tenon/Format/Safetensors.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;
using tenon::test::readWhole;
using tenon::test::TemporaryFolder;
using tenon::test::writeWhole;

namespace {

std::string withHeader(const std::string &header, size_t dataBytes) {
  uint64_t length = header.size();
  std::string file(reinterpret_cast<const char *>(&length), 8);
  return file + header + std::string(dataBytes, '\1');
}

class Safetensors : public testing::Test {
protected:
  /// The message for a file of these bytes, empty if it can be opened.
  std::string open(const std::string &bytes) {
    std::string path = folder.file("x.safetensors"), error;
    writeWhole(path, bytes);
    reader = SafetensorsReader::open(path, error);
    EXPECT_EQ(reader == nullptr, !error.empty());
    return error;
  }

  TemporaryFolder folder;
  std::unique_ptr<SafetensorsReader> reader;
};

} // namespace

TEST_F(Safetensors, RoundTrip) {
  std::vector<float> weights{1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> flags{1, 0, 1};
  std::vector<double> wide{3.5};
  std::string path = folder.file("state.safetensors"), error;
  TensorBytes tensors[] = {
      {"flags", ElementType::i1, {3}, std::as_bytes(std::span(flags))},
      {"params['a'].\"b\"",
       ElementType::f32,
       {2, 3},
       std::as_bytes(std::span(weights))},
      {"wide", ElementType::f64, {}, std::as_bytes(std::span(wide))},
      {"none", ElementType::f32, {0, 7}, {}}};
  ASSERT_TRUE(writeSafetensors(path, tensors, {{"format", "tenon"}}, error))
      << error;
  auto reader = SafetensorsReader::open(path, error);
  ASSERT_TRUE(reader) << error;
  EXPECT_EQ(reader->tensors().size(), 4u);
  EXPECT_EQ(reader->metadata().at("format"), "tenon");
  const StoredTensor *stored = reader->find("params['a'].\"b\"");
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->type, ElementType::f32);
  EXPECT_EQ(stored->shape, (std::vector<int64_t>{2, 3}));
  std::vector<float> read(6);
  ASSERT_TRUE(
      reader->read(*stored, 0, std::as_writable_bytes(std::span(read)), error));
  EXPECT_EQ(read, weights);
  // A part of it, as a batch out of a file of many.
  std::vector<float> row(3);
  ASSERT_TRUE(
      reader->read(*stored, 12, std::as_writable_bytes(std::span(row)), error));
  EXPECT_EQ(row, (std::vector<float>{4, 5, 6}));
  EXPECT_FALSE(
      reader->read(*stored, 16, std::as_writable_bytes(std::span(row)), error));
  // Every tensor is aligned to its type: wide ones come first.
  EXPECT_EQ(reader->tensors().front().name, "wide");
  uint64_t headerBytes;
  std::string bytes = readWhole(path);
  std::memcpy(&headerBytes, bytes.data(), 8);
  EXPECT_EQ(headerBytes % 8, 0u);
  EXPECT_FALSE(reader->find("other"));
  ASSERT_TRUE(writeSafetensors(folder.file("again"), tensors,
                               {{"format", "tenon"}}, error));
  EXPECT_EQ(readWhole(folder.file("again")), bytes);
}

TEST_F(Safetensors, UnknownTypesMayBeThere) {
  EXPECT_EQ(open(withHeader("{\"a\":{\"dtype\":\"U3\",\"shape\":[4],"
                            "\"data_offsets\":[0,4]}}",
                            4)),
            "");
  EXPECT_FALSE(reader->find("a")->type);
  EXPECT_EQ(reader->find("a")->typeName, "U3");
}

TEST_F(Safetensors, TensorsMaySayMoreAboutThemselves) {
  EXPECT_EQ(open(withHeader("{\"a\":{\"shape\":[1],\"note\":\"x\",\"more\":[1,"
                            "null],\"dtype\":\"F32\",\"most\":{\"dtype\":1},"
                            "\"data_offsets\":[0,4]}}",
                            4)),
            "");
  EXPECT_EQ(reader->find("a")->type, ElementType::f32);
  EXPECT_EQ(reader->find("a")->shape, std::vector<int64_t>{1});
  EXPECT_EQ(reader->find("a")->bytes, 4u);
}

TEST_F(Safetensors, WritesTheHeaderOfTheFormat) {
  std::string path = folder.file("x"), error;
  const std::byte bytes[8] = {};
  TensorBytes tensors[] = {{"a\"\n", ElementType::f32, {1, 2}, bytes},
                           {"b\xff", ElementType::f64, {}, bytes}};
  ASSERT_TRUE(
      writeSafetensors(path, tensors, {{"k", "v"}, {"l", "\\"}}, error));
  std::string header = "{\"__metadata__\":{\"k\":\"v\",\"l\":\"\\\\\"},"
                       "\"b\xef\xbf\xbd\":{\"dtype\":\"F64\",\"shape\":[],"
                       "\"data_offsets\":[0,8]},"
                       "\"a\\\"\\n\":{\"dtype\":\"F32\",\"shape\":[1,2],"
                       "\"data_offsets\":[8,16]}}";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(readWhole(path).substr(8), header + std::string(16, '\0'));
  ASSERT_TRUE(writeSafetensors(path, {}, {}, error));
  EXPECT_EQ(readWhole(path).substr(8), "{}      ");
}

TEST_F(Safetensors, EveryRuleIsChecked) {
  auto tensor = [](const char *shape, const char *offsets,
                   const char *type = "\"F32\"") {
    return "{\"dtype\":" + std::string(type) + ",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
  };
  const std::pair<std::string, const char *> cases[] = {
      {"", "0 bytes"},
      {"1234", "4 bytes"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8), "does not fit"},
      {withHeader("{", 0), "not a JSON"},
      {withHeader("[]", 0), "not a JSON object"},
      {withHeader("{\"a\":1}", 0), "'a' is not described"},
      {withHeader("{\"a\":[1]}", 0), "'a' is not described"},
      {withHeader("{\"a\":{}}", 0), "lacks"},
      {withHeader("{\"a\":" + tensor("[1]", "[0,4,8]") + "}", 4), "lacks"},
      {withHeader("{\"a\":" + tensor("[1]", "[0,4]", "3") + "}", 4), "lacks"},
      {withHeader("{\"a\":" + tensor("[-1]", "[0,4]") + "}", 4),
       "an extent that is not a whole number of at least 0"},
      {withHeader("{\"a\":" + tensor("[1.5]", "[0,4]") + "}", 4),
       "an extent that is not a whole"},
      {withHeader("{\"a\":" + tensor("[1]", "[0,-4]") + "}", 4),
       "an offset that is not a whole"},
      {withHeader("{\"a\":" + tensor("[1]", "[4,0]") + "}", 4), "ends at byte"},
      {withHeader("{\"a\":" + tensor("[1]", "[0,400]") + "}", 4),
       "ends at byte 400 of 4"},
      {withHeader("{\"a\":" + tensor("[2]", "[0,4]") + "}", 4),
       "its type and shape take 8"},
      {withHeader("{\"a\":" + tensor("[4611686018427387904,4]", "[0,0]") + "}",
                  0),
       "more than 2^63"},
      {withHeader("{\"a\":" + tensor("[1]", "[4,8]") + "}", 8),
       "starts at byte 4"},
      {withHeader("{\"a\":" + tensor("[1]", "[0,4]") +
                      ",\"b\":" + tensor("[1]", "[0,4]") + "}",
                  4),
       "starts at byte 0"},
      {withHeader("{\"a\":" + tensor("[1]", "[0,4]") + "}", 5), "4 of 5"},
      {withHeader("{\"a\":" + tensor("[1]", "[0,4]") +
                      ",\"a\":" + tensor("[1]", "[4,8]") + "}",
                  8),
       "'a' twice"},
      {withHeader("{\"__metadata__\":3}", 0), "metadata"},
      {withHeader("{\"__metadata__\":{\"a\":3}}", 0), "metadata"},
      {withHeader("{\"__metadata__\":{\"a\":[]}}", 0), "metadata 'a'"},
      {withHeader("{\"a\":" + tensor("4", "[0,4]") + "}", 4), "lacks"},
      {withHeader("{\"a\":" + tensor("{\"b\":1}", "[0,4]") + "}", 4), "lacks"},
      {withHeader("{\"a\":" + tensor("[1]", "[0,4]", "{}") + "}", 4), "lacks"},
      {withHeader("{\"a\":" + std::string(100000, '[') + "}", 0),
       "more than 3 brackets"},
  };
  for (const auto &[bytes, expected] : cases) {
    std::string message = open(bytes);
    EXPECT_NE(message.find(expected), std::string::npos)
        << "expected: " << expected << "\nfound: " << message;
  }
}

TEST_F(Safetensors, DamageNeverCrashes) {
  std::vector<float> values(8, 1.0f);
  std::string path = folder.file("state"), error;
  TensorBytes tensors[] = {
      {"a",
       ElementType::f32,
       {2, 2},
       std::as_bytes(std::span(values)).first(16)},
      {"b", ElementType::i32, {4}, std::as_bytes(std::span(values)).last(16)}};
  ASSERT_TRUE(writeSafetensors(path, tensors, {{"k", "v"}}, error));
  std::string bytes = readWhole(path);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(open(bytes.substr(0, length)), "") << length;
  int faults = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] ^= char(1 << bit);
      faults += !open(damaged).empty();
    }
  EXPECT_GT(faults, 500);
}

TEST_F(Safetensors, NamesMustDiffer) {
  std::string error;
  TensorBytes tensors[] = {{"a", ElementType::f32, {0}, {}},
                           {"a", ElementType::f32, {0}, {}}};
  EXPECT_FALSE(writeSafetensors(folder.file("x"), tensors, {}, error));
  EXPECT_NE(error.find("twice"), std::string::npos);
  EXPECT_EQ(folder.entries(), 0u);
}
