//===- PtxAttentionTest.cpp - Attention without tensor cores --------------===//
//
// Attention and its gradient by fused multiply-adds, on the emulated GPU and on
// this processor: the order of sums is the operation's, so all bits are equal.
//
//===----------------------------------------------------------------------===//

#include "AttentionCase.h"
#include "BothTargets.h"

#include <gtest/gtest.h>
#include <string>

using namespace tenon;

namespace {

/// One run, with numbers that leave few NaN or with such of all kinds.
void compareOnce(const std::string &text, bool areSmall = true) {
  SCOPED_TRACE(text);
  BothTargets both(text, Subnormals::flush, "sm_90");
  both.areSmall = areSmall;
  both.compare(1, "5");
}

void compareBoth(const std::string &text, const std::string &schedule) {
  SCOPED_TRACE(text);
  EXPECT_EQ(compareTargets(text, {}, /*areSmall=*/true).schedule, schedule);
  compareOnce(text, /*areSmall=*/false);
}

void compareAttention(const AttentionCase &c) {
  compareBoth(c.text(), "attention");
}

void compareGradient(const AttentionCase &c) {
  compareBoth(c.gradientText(), "attention-gradient");
}

AttentionCase caseOf(const std::map<char, int64_t> &extents) {
  AttentionCase c;
  c.extents = extents;
  c.type = "f32";
  return c;
}

/// One tile of keys and several, all of them whole or not, with and without
/// keys that are left out; features that fill steps and such that do not.
const std::map<char, int64_t> shapes[] = {
    extentsOf(2, 2, 64, 64, 16, 16), extentsOf(1, 2, 70, 45, 24, 40),
    extentsOf(1, 1, 33, 130, 64, 64), extentsOf(1, 1, 1, 9, 3, 5),
    extentsOf(1, 1, 130, 77, 72, 128)};

TEST(PtxAttention, Forward) {
  for (const auto &extents : shapes)
    for (bool causal : {false, true}) {
      AttentionCase c = caseOf(extents);
      c.causal = causal;
      compareAttention(c);
    }
}

TEST(PtxAttention, Gradient) {
  for (const auto &extents : shapes)
    for (bool causal : {false, true}) {
      AttentionCase c = caseOf(extents);
      c.causal = causal;
      compareGradient(c);
    }
}

/// Keys have a maximum per 512 of them.
TEST(PtxAttention, ManyKeys) {
  AttentionCase c = caseOf(extentsOf(1, 1, 20, 1100, 8, 8));
  compareOnce(c.text());
  compareOnce(c.gradientText());
  c = caseOf(extentsOf(1, 1, 560, 560, 4, 4));
  c.causal = true;
  compareOnce(c.text());
  compareOnce(c.gradientText());
}

/// Blocks with as many rows as there are: fewer of them where these would
/// leave a GPU idle, or do not fit in registers.
TEST(PtxAttention, ManyBlocks) {
  for (auto [batch, features, causal] :
       {std::tuple(64, 16, true), std::tuple(64, 4, true),
        std::tuple(32, 16, false)}) {
    AttentionCase c = caseOf(extentsOf(batch, 2, 50, 66, features, features));
    c.causal = causal;
    compareOnce(c.text());
    compareOnce(c.gradientText());
  }
}

/// Features that are not last, and queries that share keys: gradients of keys
/// are sums over those.
TEST(PtxAttention, OtherDimensions) {
  AttentionCase c = caseOf(extentsOf(2, 3, 33, 40, 16, 24));
  c.query = "0, 1, d, q", c.key = "0, 1, d, k", c.value = "0, 1, k, v",
  c.output = "0, 1, q, v";
  compareAttention(c);
  compareGradient(c);
  c = caseOf(extentsOf(2, 3, 40, 24, 16, 16));
  c.key = "0, k, d", c.value = "0, v, k", c.causal = true;
  compareAttention(c);
  compareGradient(c);
}

TEST(PtxAttention, Besides) {
  AttentionCase c = caseOf(extentsOf(2, 1, 33, 37, 16, 16));
  c.bias = "1, k", c.mask = "0, q, k";
  compareAttention(c);
  compareGradient(c);
  c.bias = c.mask = "";
  c.factor = "1, q, k", c.causal = true;
  compareAttention(c);
  compareGradient(c);
}

/// Numbers of 16 bits that tensor cores are not used for: few of them, or many
/// features, which blocks share.
TEST(PtxAttention, SixteenBits) {
  for (const auto &extents :
       {extentsOf(1, 2, 5, 70, 16, 16), extentsOf(1, 1, 20, 20, 136, 260)}) {
    AttentionCase c = caseOf(extents);
    c.type = c.resultType = "bf16";
    compareAttention(c);
    compareGradient(c);
    c.factor = "1, q, k";
    c.rounding = "rounds_weights, ";
    compareAttention(c);
    c.rounding = "rounds_weights, rounds_weight_gradients, rounds_slopes, ";
    compareGradient(c);
  }
}

/// Kernels with some of the results.
TEST(PtxAttention, SomeResults) {
  AttentionCase c = caseOf(extentsOf(1, 2, 40, 72, 8, 8));
  c.causal = true;
  auto only = [](std::string text, const std::string &values) {
    // Of three results in the signature and behind `return`.
    size_t arrow = text.find(") -> ("), open = text.find(" {\n");
    std::string types = text.substr(arrow + 6, open - arrow - 7);
    std::vector<std::string> each;
    for (size_t at = 0; at < types.size();) {
      size_t end = types.find('>', at) + 1;
      each.push_back(types.substr(at, end - at));
      at = end + 2;
    }
    std::string names, kept;
    for (char value : values) {
      names += (names.empty() ? "%" : ", %") + std::string(1, value);
      kept += (kept.empty() ? "" : ", ") + each[size_t(value - 'a')];
    }
    text.replace(text.find("return"), std::string::npos,
                 "return " + names + " : " + kept + "\n}");
    text.replace(arrow + 6, open - arrow - 7, kept);
    return text;
  };
  for (const char *values : {"bc", "a", "c"})
    compareBoth(only(c.text(), values), "attention");
  for (const char *values : {"a", "b", "c", "ab", "bc", "ac"})
    compareBoth(only(c.gradientText(), values), "attention-gradient");
}

/// Bytes move by wide accesses, and no two lanes meet in a bank.
TEST(PtxAttention, Accesses) {
  for (int64_t features : {64, 128}) {
    AttentionCase c = caseOf(extentsOf(1, 2, 128, 192, features, features));
    for (const std::string &text : {c.text(), c.gradientText()}) {
      BothTargets both(text, Subnormals::flush, "sm_90");
      both.areSmall = true;
      both.compare(3, "forward");
      EXPECT_EQ(both.counters.sharedBankConflicts, 0u) << text;
      EXPECT_GE(double(both.counters.globalWideBytes),
                0.9 * double(both.counters.globalBytes))
          << text;
      EXPECT_LE(double(both.counters.globalSectors),
                1.05 * double(both.counters.globalBytes) / 32)
          << text;
    }
  }
}

/// Faults put into the code: what the emulated driver does not see would have
/// to show in the bits.
TEST(PtxAttention, Mutants) {
  AttentionCase c = caseOf(extentsOf(1, 1, 40, 150, 48, 32));
  for (const std::string &text : {c.text(), c.gradientText()}) {
    BothTargets both(text, Subnormals::flush, "sm_90");
    both.areSmall = true;
    const std::string whole = both.ptx.text;
    auto isFound = [&](const std::string &mutant) {
      EXPECT_NE(mutant, whole) << "nothing was changed";
      return !both.isEqual(mutant, 1);
    };
    auto without = [&](const std::string &instruction, size_t from,
                       bool areAll) {
      std::string mutant = whole;
      for (size_t at = from;
           (at = mutant.find(instruction, at)) != std::string::npos;) {
        mutant.erase(at, mutant.find('\n', at) - at);
        if (!areAll)
          break;
      }
      return mutant;
    };
    EXPECT_TRUE(both.isEqual(whole, 1));
    EXPECT_TRUE(isFound(without("bar.sync", 0, /*areAll=*/true)));
    EXPECT_TRUE(isFound(without("cp.async.wait_group", 0, /*areAll=*/true)));
    // Every barrier that waits for what others have copied.
    const std::string wait = "cp.async.wait_group";
    for (size_t at = 0; (at = whole.find(wait, at)) != std::string::npos;
         at += wait.size()) {
      const size_t next =
          whole.find_first_not_of(" \t\n", whole.find('\n', at));
      if (whole.compare(next, 8, "bar.sync") == 0)
        EXPECT_TRUE(isFound(without("bar.sync", next, /*areAll=*/false)));
    }
  }
}

} // namespace
