//===- NumpyTest.cpp - Reading arrays that numpy saved --------------------===//
//
// Bytes as numpy writes them, and what is wrong with others.
//
//===----------------------------------------------------------------------===//

#include "TemporaryFolder.h"

#include "tenon/Format/Numpy.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::format;

namespace {

/// A file as numpy.save writes it.
std::string arrayOf(const std::string &header, const std::string &bytes,
                    char version = 1) {
  std::string text = "\x93NUMPY" + std::string(1, version) + '\0';
  uint32_t length = uint32_t(header.size());
  text.append(reinterpret_cast<const char *>(&length), version == 1 ? 2 : 4);
  return text + header + bytes;
}

const char *const shortHeader =
    "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }\n";
const std::string threeShorts("\1\0\2\0\3\0", 6);

class Numpy : public testing::Test {
protected:
  std::unique_ptr<NumpyReader> open(const std::string &bytes,
                                    const char *name = "x.npy") {
    test::writeWhole(folder.file(name), bytes);
    error.clear();
    return NumpyReader::open(folder.file(name), error);
  }

  test::TemporaryFolder folder;
  std::string error;
};

TEST_F(Numpy, ReadsAnArrayUnderItsFilesName) {
  for (char version : {1, 2, 3}) {
    auto file = open(arrayOf(shortHeader, threeShorts, version));
    ASSERT_TRUE(file) << error;
    ASSERT_EQ(file->tensors().size(), 1u);
    const StoredTensor &tensor = file->tensors()[0];
    EXPECT_EQ(tensor.name, "x");
    EXPECT_EQ(tensor.type, ElementType::i16);
    EXPECT_EQ(tensor.shape, std::vector<int64_t>{3});
    int16_t values[2];
    ASSERT_TRUE(
        file->read(tensor, 2, std::as_writable_bytes(std::span(values)), error))
        << error;
    EXPECT_EQ(values[0], 2);
    EXPECT_EQ(values[1], 3);
    EXPECT_FALSE(file->read(tensor, 4,
                            std::as_writable_bytes(std::span(values)), error));
  }
}

TEST_F(Numpy, TakesScalarsAndUnknownTypes) {
  auto scalar = open(
      arrayOf("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "abcd"));
  ASSERT_TRUE(scalar) << error;
  EXPECT_TRUE(scalar->tensors()[0].shape.empty());
  auto text = open(arrayOf(
      "{'descr': '<U1', 'fortran_order': False, 'shape': (2, 1)}", "abcdefgh"));
  ASSERT_TRUE(text) << error;
  EXPECT_FALSE(text->tensors()[0].type.has_value());
  EXPECT_EQ(text->tensors()[0].typeName, "<U1");
}

TEST_F(Numpy, RefusesWhatIsNone) {
  const std::string whole = arrayOf(shortHeader, threeShorts);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(open(whole.substr(0, length))) << length;
    EXPECT_NE(error.find("cannot be read as an array"), std::string::npos);
  }
  for (const char *header :
       {"{'descr': '<i2', 'fortran_order': False}",
        "{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, 'shape': "
        "(3,)}",
        "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (3 3)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)} x",
        "{'descr': '<i2', 'fortran_order': 1, 'shape': (3,)}", "{", ""}) {
    EXPECT_FALSE(open(arrayOf(header, threeShorts))) << header;
    EXPECT_NE(error.find("its header is not understood"), std::string::npos)
        << header;
  }
  EXPECT_FALSE(open(arrayOf(
      "{'descr': '<i2', 'fortran_order': False, 'shape': (4,)}", threeShorts)));
  EXPECT_NE(error.find("has 6 bytes, its type and shape take 8"),
            std::string::npos);
  EXPECT_FALSE(open(arrayOf("{'descr': '<i2', 'fortran_order': False, 'shape': "
                            "(4611686018427387904, 4)}",
                            threeShorts)));
  EXPECT_NE(error.find("more than 2^63"), std::string::npos);
  EXPECT_FALSE(
      open(arrayOf("{'descr': '<i2', 'fortran_order': True, 'shape': (3, 1)}",
                   threeShorts)));
  EXPECT_NE(error.find("order of Fortran"), std::string::npos);
}

/// A number as it stands in an archive.
template <typename Number>
std::string bytesOfNumber(Number number) {
  return std::string(reinterpret_cast<const char *>(&number), sizeof(number));
}

/// An archive with one stored file. `wide` gives its numbers in the fields for
/// large files, as numpy does for the sizes behind the local header.
std::string archiveOf(const std::string &name, const std::string &bytes,
                      bool wide, uint16_t method = 0) {
  uint32_t size = wide ? UINT32_MAX : uint32_t(bytes.size());
  std::string extra = wide ? bytesOfNumber<uint16_t>(1) +
                                 bytesOfNumber<uint16_t>(16) +
                                 bytesOfNumber<uint64_t>(bytes.size()) +
                                 bytesOfNumber<uint64_t>(bytes.size())
                           : "";
  std::string sizes = bytesOfNumber<uint32_t>(0) + bytesOfNumber(size) +
                      bytesOfNumber(size) +
                      bytesOfNumber(uint16_t(name.size())) +
                      bytesOfNumber(uint16_t(extra.size()));
  std::string fixed = bytesOfNumber<uint16_t>(45) + bytesOfNumber<uint16_t>(0) +
                      bytesOfNumber(method) + bytesOfNumber<uint32_t>(0);
  std::string local = "PK\x03\x04" + fixed + sizes + name + extra + bytes;
  std::string entry = "PK\x01\x02" + bytesOfNumber<uint16_t>(45) + fixed +
                      sizes + bytesOfNumber<uint16_t>(0) +
                      bytesOfNumber<uint16_t>(0) + bytesOfNumber<uint16_t>(0) +
                      bytesOfNumber<uint32_t>(0) + bytesOfNumber<uint32_t>(0) +
                      name + extra;
  return local + entry + "PK\x05\x06" + bytesOfNumber<uint32_t>(0) +
         bytesOfNumber<uint16_t>(1) + bytesOfNumber<uint16_t>(1) +
         bytesOfNumber(uint32_t(entry.size())) +
         bytesOfNumber(uint32_t(local.size())) + bytesOfNumber<uint16_t>(0);
}

TEST_F(Numpy, ReadsArchives) {
  for (bool wide : {false, true}) {
    auto file =
        open(archiveOf("images.npy", arrayOf(shortHeader, threeShorts), wide),
             "x.npz");
    ASSERT_TRUE(file) << error;
    const StoredTensor *tensor = file->find("images");
    ASSERT_TRUE(tensor);
    int16_t values[3];
    ASSERT_TRUE(file->read(*tensor, 0,
                           std::as_writable_bytes(std::span(values)), error));
    EXPECT_EQ(values[2], 3);
  }
}

TEST_F(Numpy, RefusesDamagedArchives) {
  const std::string array = arrayOf(shortHeader, threeShorts);
  const std::string whole = archiveOf("a.npy", array, true);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(open(whole.substr(0, length), "x.npz")) << length;
  EXPECT_FALSE(open(archiveOf("a.npy", array, false, /*method=*/8), "x.npz"));
  EXPECT_NE(error.find("numpy.savez"), std::string::npos);
  // Whatever a byte says, it is read or refused with a word.
  for (size_t place = 0; place < whole.size(); ++place)
    for (char bit : {1, 16, -128}) {
      std::string changed = whole;
      changed[place] = char(changed[place] ^ bit);
      auto file = open(changed, "x.npz");
      EXPECT_EQ(!file, !error.empty()) << place;
    }
}

} // namespace
