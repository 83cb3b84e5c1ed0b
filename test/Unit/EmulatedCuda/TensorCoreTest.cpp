//===- TensorCoreTest.cpp - Matrix instructions against recorded GPUs -----===//
//
// The rows in the folder TensorCore are results that GPUs gave (its README says
// which and where they are from). Each is computed by mma.sync in a kernel:
// eight rows at a time, as columns of B with a row of A each.
// TENON_TENSOR_CORE_ROWS=FOLDER takes the rows of all files of that folder,
// named GPU-FORMAT.txt, instead.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include <algorithm>

using namespace tenon::test;

namespace {

struct Row {
  std::vector<uint32_t> a, b;
  uint32_t c, d;
};

std::vector<Row> readRows(const std::string &name) {
  const char *folder = getenv("TENON_TENSOR_CORE_ROWS");
  std::ifstream file(
      std::string(folder ? folder : TENON_TEST_DATA "/TensorCore") + "/" +
      name + ".txt");
  EXPECT_TRUE(file) << name;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    std::stringstream words(line);
    Row row{};
    unsigned part = 0;
    for (std::string word; words >> word;) {
      if (word == "|") {
        ++part;
        continue;
      }
      uint32_t value = std::stoul(word, nullptr, 16);
      part == 0   ? row.a.push_back(value)
      : part == 1 ? row.b.push_back(value)
      : part == 2 ? void(row.c = value)
                  : void(row.d = value);
    }
    rows.push_back(row);
  }
  return rows;
}

uint32_t narrow(uint32_t word, const std::string &format) {
  if (format == "tf32")
    return word;
  if (format == "bf16")
    return word >> 16;
  float value;
  memcpy(&value, &word, 4);
  _Float16 half = _Float16(value);
  EXPECT_EQ(float(half), value);
  uint16_t bits;
  memcpy(&bits, &half, 2);
  return bits;
}

class Recorded
    : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Recorded, RowsAreEqual) {
  auto [gpu, format] = GetParam();
  const std::vector<Row> rows = readRows(gpu + "-" + format);
  ASSERT_GE(rows.size(), 280u);
  const bool wide = format == "tf32";
  const unsigned depth = wide ? 8 : 16;
  const std::string type = format == "fp16" ? "f16" : format;
  Device device({{"SM", gpu == "A100" ? "80" : gpu == "Ada" ? "89" : "90"}});
  std::string body =
      "mov.u32 %r30, %ctaid.x;\nmul.wide.u32 %rd20, %r30, 512;\n";
  // Per lane: four words of A, two of B, four of C.
  for (int i = 0; i < 4; ++i)
    body += "add.s64 %rd1" + std::to_string(i) + ", %rd" + std::to_string(i) +
            ", %rd20;\n";
  body += "mul.wide.u32 %rd21, %r0, 16;\n";
  for (int i = 0; i < 4; ++i)
    body += "add.s64 %rd1" + std::to_string(i) + ", %rd1" + std::to_string(i) +
            ", %rd21;\n";
  body += "ld.global.v4.b32 {%r1,%r2,%r3,%r4}, [%rd10];\nld.global.v2.b32 "
          "{%r5,%r6}, [%rd11];\n"
          "ld.global.v4.b32 {%r7,%r8,%r9,%r10}, [%rd12];\n"
          "mma.sync.aligned.m16n8k" +
          std::to_string(depth) + ".row.col.f32." + type + "." + type +
          ".f32 {%r11,%r12,%r13,%r14}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
          "{%r7,%r8,%r9,%r10};\n"
          "st.global.v4.b32 [%rd13], {%r11,%r12,%r13,%r14};";
  CUfunction function = device.load(kernel(body, "", 80));
  ASSERT_TRUE(function);

  const unsigned blocks = (rows.size() + 7) / 8;
  std::vector<uint32_t> a(blocks * 128), b(blocks * 128), c(blocks * 128),
      d(blocks * 128);
  // Where an element lies: word of lane 4 g + t, and which half of it.
  auto put = [&](std::vector<uint32_t> &words, unsigned block, unsigned g,
                 unsigned k, unsigned above, uint32_t value) {
    if (wide)
      words[block * 128 + (4 * g + k % 4) * 4 + above * (k / 4)] = value;
    else
      words[block * 128 + (4 * g + k % 8 / 2) * 4 + above * (k / 8)] |=
          value << (16 * (k % 2));
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const unsigned block = i / 8, g = i % 8;
    for (unsigned k = 0; k < rows[i].a.size(); ++k) {
      put(a, block, g, k, 2, narrow(rows[i].a[k], format));
      put(b, block, g, k, 1, narrow(rows[i].b[k], format));
    }
    // C(g, g): lane 4 g + g / 2, word g % 2.
    c[block * 128 + (4 * g + g / 2) * 4 + g % 2] = rows[i].c;
  }
  std::vector<CUdeviceptr> pointers{device.upload(a), device.upload(b),
                                    device.upload(c), device.upload(d)};
  ASSERT_EQ(device.run(function, blocks, 32, pointers), CUDA_SUCCESS)
      << tenonEmulatedCudaError();
  d = device.download<uint32_t>(pointers[3], d.size());
  unsigned equal = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const unsigned block = i / 8, g = i % 8;
    equal += d[block * 128 + (4 * g + g / 2) * 4 + g % 2] == rows[i].d;
  }
  EXPECT_EQ(equal, rows.size());
  TenonEmulatedCounters counters;
  tenonEmulatedCudaCounters(function, &counters);
  EXPECT_EQ(counters.tensorInstructions, blocks);
}

INSTANTIATE_TEST_SUITE_P(
    Gpus, Recorded,
    testing::Combine(testing::Values("A100", "Ada", "H100"),
                     testing::Values("bf16", "fp16", "tf32")),
    [](const auto &info) {
      return std::get<0>(info.param) + "_" + std::get<1>(info.param);
    });

} // namespace
