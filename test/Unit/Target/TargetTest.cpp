//===- TargetTest.cpp - Machine descriptions and their text ---------------===//
//
// What is written is read back; what is wrong is named with field and value.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Target.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::target;

namespace {

/// The text of a valid machine with the first `from` replaced by `to`.
std::string textWith(const std::string &from, const std::string &to) {
  std::string text = toJson(builtInTarget(Isa::avx512));
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

std::string errorOf(const std::string &text) {
  std::string error;
  EXPECT_FALSE(fromJson(text, "m.json", error)) << text;
  return error;
}

} // namespace

/// What GPUs are planned for has the rates of its row, and one core whose
/// launches fill it.
TEST(Target, BuiltInGpus) {
  for (const GpuArchitecture &gpu : gpuArchitectures()) {
    Target target = builtInTarget(gpu);
    EXPECT_EQ(target.name, "built-in " + std::string(gpu.planned.name));
    EXPECT_EQ(target.cores, 1);
    EXPECT_EQ(target.launches.partsFor(1 << 30), 1);
    EXPECT_EQ(target.caches.last(), gpu.planned.cache);
    for (const Rate &rate :
         {target.memory.copy, target.memory.read, target.memory.cachedCopy})
      EXPECT_EQ(rate, (Rate{gpu.planned.memory, gpu.planned.memory}));
    EXPECT_EQ(target.computeRate(ElementType::f32).allCores, gpu.planned.f32);
    EXPECT_EQ(target.computeRate(ElementType::bf16).allCores, gpu.planned.f16);
    EXPECT_EQ(target.computeRate(ElementType::f16).allCores, gpu.planned.f16);
    EXPECT_TRUE(target.isGpu());
    EXPECT_FALSE(builtInTarget(Isa::avx2).isGpu());
    EXPECT_EQ(target.hostLink, gpu.planned.hostLink);
    EXPECT_TRUE(target.isGpu());
    // Peaks of GPUs: each moves and computes more than any processor.
    EXPECT_GT(gpu.planned.memory, 5e11);
    EXPECT_GT(gpu.planned.f32, gpu.planned.memory);
    // And tensor cores more than the rest of the GPU.
    EXPECT_GE(gpu.planned.f16, 1.9 * gpu.planned.f32);
  }
}

TEST(Target, TextGoesBothWays) {
  for (const IsaInfo &info : instructionSets()) {
    Target target = builtInTarget(info.isa);
    target.name = "a \"quoted\" name";
    target.cores = 7;
    std::string error;
    auto read = fromJson(toJson(target), "m.json", error);
    ASSERT_TRUE(read) << error;
    EXPECT_EQ(*read, target);
    EXPECT_EQ(toJson(*read), toJson(target));
  }
}

TEST(Target, ALinkToAHostMayBeLeftOut) {
  Target target = builtInTarget(Isa::avx2);
  EXPECT_EQ(toJson(target).find("host_link"), std::string::npos);
  target.hostLink = 12e9;
  std::string error, text = toJson(target);
  auto read = fromJson(text, "m.json", error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(read->hostLink, 12e9);
  EXPECT_FALSE(read->isGpu()); // a processor may have such a link, too
  EXPECT_EQ(errorOf(text.replace(text.find("\"host_link\": 12.0"), 17,
                                 "\"host_link\": -1")),
            "m.json: field 'gigabytes_per_second.host_link': found -1, "
            "expected a positive number");
}

TEST(Target, LinksMayBeLeftOut) {
  Target target = builtInTarget(Isa::avx2);
  EXPECT_EQ(toJson(target).find("links"), std::string::npos);
  target.links = {{4e-6, 1e9, 2, 0.5}, {1e-6, 40e9, 1}};
  std::string error, text = toJson(target);
  auto read = fromJson(text, "m.json", error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(*read, target);
  auto faultOf = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    return errorOf(changed.replace(changed.find(from), from.size(), to));
  };
  EXPECT_EQ(faultOf("\"shared_by\": 1", "\"shared_by\": 0"),
            "m.json: links[1]: field 'shared_by': found 0, expected a whole "
            "number from 1 to 4096");
  EXPECT_EQ(faultOf("\"hidden_share\": 0.5", "\"hidden_share\": 2"),
            "m.json: links[0]: field 'hidden_share': found 2, expected a "
            "number from 0 to 1");
  EXPECT_EQ(faultOf("\"shared_by\": 2", "\"shared\": 2"),
            "m.json: links[0]: field 'shared_by': found nothing, expected a "
            "whole number from 1 to 4096");
  EXPECT_EQ(errorOf(textWith("\"cores\": 2", "\"cores\": 2, \"links\": 3")),
            "m.json: field 'links': found 3, expected a list with an entry per "
            "axis");
  EXPECT_EQ(
      errorOf(textWith("\"cores\": 2", "\"cores\": 2, \"links\": [true]")),
      "m.json: links[0]: field 'latency_microseconds': found true, expected a "
      "positive number");
  // The first version had none.
  text = toJson(builtInTarget(Isa::avx2));
  text.replace(text.find("\"machine_version\": 2"), 20,
               "\"machine_version\": 1");
  ASSERT_TRUE(fromJson(text, "m.json", error)) << error;
}

TEST(Target, RanksOfAHostShareItsMemoryAndGpusANode) {
  std::vector<int64_t> axes{4, 2};
  std::vector<Link> host = builtInLinks(builtInTarget(Isa::avx2), axes);
  ASSERT_EQ(host.size(), 2u);
  EXPECT_EQ(host[0], host[1]);
  EXPECT_EQ(host[0].sharedBy, 8);
  std::string error;
  auto gpus = gpuArchitecturesOf("sm_90", error);
  ASSERT_FALSE(gpus.empty()) << error;
  Target gpu = builtInTarget(*gpus.front());
  // Eight GPUs are one node; of sixteen only the minor axis lies within it.
  std::vector<Link> node = builtInLinks(gpu, axes);
  EXPECT_EQ(node[0], node[1]);
  axes = {2, 8};
  std::vector<Link> two = builtInLinks(gpu, axes);
  EXPECT_LT(two[0].perRank(), two[1].perRank());
  EXPECT_EQ(two[1], node[1]);
}

TEST(Target, RatesAreWrittenWithFourDigits) {
  Target target = builtInTarget(Isa::avx2);
  target.compute.f32.oneCore = 123.456789e9;
  std::string text = toJson(target), error;
  EXPECT_NE(text.find("\"one_core\": 123.5,"), std::string::npos) << text;
  auto read = fromJson(text, "m.json", error);
  ASSERT_TRUE(read) << error;
  EXPECT_DOUBLE_EQ(read->compute.f32.oneCore, 123.5e9);
}

TEST(Target, FaultsNameFieldFoundAndExpected) {
  EXPECT_EQ(errorOf(textWith("\"cores\": 2", "\"cores\": 0")),
            "m.json: field 'cores': found 0, expected a whole number from 1 to "
            "4096");
  EXPECT_EQ(
      errorOf(textWith("\"cores\": 2", "\"cores\": 18446744073709551615")),
      "m.json: field 'cores': found 18446744073709551615, expected a "
      "whole number from 1 to 4096");
  EXPECT_EQ(errorOf(textWith("\"one_core\": 192.0", "\"one_core\": -3")),
            "m.json: field 'gflops.f32.one_core': found -3, expected a "
            "positive number");
  EXPECT_EQ(errorOf(textWith("\"one_core\": 192.0", "\"one_core\": \"a\"")),
            "m.json: field 'gflops.f32.one_core': found \"a\", expected a "
            "positive number");
  EXPECT_EQ(errorOf(textWith("\"feature_set\": \"x86-64-v4\"",
                             "\"feature_set\": \"sse\"")),
            "m.json: field 'feature_set': found \"sse\", expected "
            "x86-64-v3, x86-64-v4, x86-64-v4+avx512bf16 or "
            "x86-64-v4+amxbf16");
  EXPECT_EQ(errorOf(textWith("\"level2\"", "\"levle2\"")),
            "m.json: field 'cache_bytes.level2': found nothing, expected a "
            "whole number from 0 to 1099511627776");
  EXPECT_EQ(
      errorOf(textWith("\"machine_version\": 2", "\"machine_version\": 3")),
      "m.json: field 'machine_version': found 3, expected a whole number "
      "from 1 to 2");
}

TEST(Target, UnknownFieldsAreRefused) {
  EXPECT_NE(errorOf(textWith("\"cores\": 2", "\"cores\": 2, \"corse\": 4"))
                .find("field 'corse': found an unknown field"),
            std::string::npos);
}

TEST(Target, TextThatIsNoDescriptionIsRefused) {
  EXPECT_NE(errorOf("").find("found no JSON object"), std::string::npos);
  EXPECT_NE(errorOf("[1]").find("found no JSON object"), std::string::npos);
  std::string deep = "{";
  for (int i = 0; i < 100; ++i)
    deep += "\"a\":{";
  EXPECT_NE(errorOf(deep).find("nested deeper"), std::string::npos);
  // Also behind a field that is there twice.
  std::string twice = R"({"x": 1, "x": )" + deep + "}";
  EXPECT_NE(errorOf(twice).find("nested deeper"), std::string::npos);
  // Every prefix is an error, none a crash.
  std::string text = toJson(builtInTarget(Isa::avx2));
  for (size_t length = 0; length + 2 < text.size(); length += 7)
    EXPECT_NE(errorOf(text.substr(0, length)), "") << length;
}

TEST(Target, FilesAreRead) {
  std::string error;
  EXPECT_FALSE(readTarget("/nonexistent/machine.json", error));
  EXPECT_NE(error.find("/nonexistent/machine.json: cannot be read: No such"),
            std::string::npos)
      << error;
  std::string path = testing::TempDir() + "machine.json";
  Target target = builtInTarget(Isa::avx512Bf16);
  std::ofstream(path) << toJson(target);
  auto read = readTarget(path, error);
  std::remove(path.c_str());
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(*read, target);
}

TEST(Target, RatesOfSomeCoresLieBetweenOneAndAll) {
  Rate copy{30, 40};
  EXPECT_EQ(copy.of(1, 8), 30);
  EXPECT_EQ(copy.of(3, 8), 40);
  EXPECT_EQ(copy.of(8, 8), 40);
  Rate compute{100, 800};
  EXPECT_EQ(compute.of(4, 8), 400);
  EXPECT_EQ(compute.of(99, 8), 800);
}

TEST(Target, Bf16HasTheRateOfItsInstructions) {
  Target wide = builtInTarget(Isa::avx512Bf16);
  EXPECT_EQ(wide.computeRate(ElementType::bf16).oneCore,
            2 * wide.computeRate(ElementType::f32).oneCore);
  EXPECT_EQ(builtInTarget(Isa::amxBf16).computeRate(ElementType::bf16).oneCore,
            16 * wide.computeRate(ElementType::f32).oneCore);
  EXPECT_EQ(wide.computeRate(ElementType::f16).oneCore,
            wide.computeRate(ElementType::f32).oneCore);
}

TEST(Target, ProductsRunNativelyWhereThatIsNoSlower) {
  Target target = builtInTarget(Isa::avx512Bf16);
  EXPECT_TRUE(target.multipliesNatively(ElementType::bf16, Isa::avx512Bf16));
  EXPECT_FALSE(target.multipliesNatively(ElementType::bf16, Isa::avx512));
  EXPECT_FALSE(target.multipliesNatively(ElementType::f16, Isa::avx512Bf16));
  EXPECT_FALSE(target.multipliesNatively(ElementType::f32, Isa::avx512Bf16));
  target.compute.bf16.allCores = target.compute.f32.allCores;
  EXPECT_TRUE(target.multipliesNatively(ElementType::bf16, Isa::avx512Bf16));
  target.compute.bf16.allCores *= 0.9;
  EXPECT_FALSE(target.multipliesNatively(ElementType::bf16, Isa::avx512Bf16));
  // The rate of tiles says nothing of code without them.
  target = builtInTarget(Isa::amxBf16);
  EXPECT_TRUE(target.multipliesNatively(ElementType::bf16, Isa::amxBf16));
  EXPECT_FALSE(target.multipliesNatively(ElementType::bf16, Isa::avx512Bf16));
}
