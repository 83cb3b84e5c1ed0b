//===- BoundTextTest.cpp - Limits on program text -------------------------===//
//
// Each limit at n and at n + 1, and the recoding of boolean constants.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/BoundText.h"

#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace tenon::importer;

namespace {

/// The message for `text` under `limits`, empty if it is fine.
std::string scan(std::string text, const TextLimits &limits = {}) {
  auto fault =
      boundText(llvm::MutableArrayRef<char>(text.data(), text.size()), limits);
  return fault ? fault->message : "";
}

std::string repeat(llvm::StringRef text, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

/// The text after recoding.
std::string recode(std::string text) {
  EXPECT_FALSE(
      boundText(llvm::MutableArrayRef<char>(text.data(), text.size())));
  return text;
}

TEST(BoundText, Nesting) {
  for (char open : {'(', '[', '{', '<'}) {
    EXPECT_EQ(scan(std::string(1024, open)), "");
    EXPECT_EQ(scan(std::string(1025, open)),
              "nested deeper than 1024 brackets");
  }
}

TEST(BoundText, NestingCountsWhatTheParserSees) {
  // Brackets in strings and comments, and arrows, are none.
  EXPECT_EQ(scan("\"" + std::string(5000, '[') + "\""), "");
  EXPECT_EQ(scan("// " + std::string(5000, '[') + "\n"), "");
  EXPECT_EQ(scan(repeat("(i32) -> i32\n", 5000)), "");
  // A closing bracket of another kind closes nothing.
  EXPECT_EQ(scan(repeat("[>", 1025)), "nested deeper than 1024 brackets");
  EXPECT_EQ(scan(repeat("[ -> ", 1025)), "nested deeper than 1024 brackets");
  // Closed brackets do not add up.
  EXPECT_EQ(scan(repeat("[]", 5000)), "");
}

TEST(BoundText, Rank) {
  EXPECT_EQ(scan("tensor<" + repeat("1x", 32) + "f32>"), "");
  EXPECT_EQ(scan("tensor<" + repeat("1x", 33) + "f32>"),
            "a type of rank 33, at most 32 is read");
  EXPECT_EQ(scan("tensor<" + repeat("?x", 33) + "f32>"),
            "a type of rank 33, at most 32 is read");
}

TEST(BoundText, ElementCount) {
  EXPECT_EQ(scan("tensor<4611686018427387904x1xf32>"), "");
  EXPECT_EQ(scan("tensor<4611686018427387904x2xf32>"),
            "dimension 1 of extent 2 makes a type of more than 2^63 elements");
  EXPECT_EQ(scan("tensor<2x99999999999999999999xf32>"),
            "dimension 1 of extent 99999999999999999999 makes a type of more "
            "than 2^63 elements");
  // An extent of zero does not hide what the others make.
  EXPECT_NE(scan("tensor<0x4611686018427387904x2xf32>"), "");
}

TEST(BoundText, Operations) {
  TextLimits limits;
  limits.operations = 3;
  EXPECT_EQ(scan(repeat("stablehlo.add %a, %b : f32\n", 3), limits), "");
  EXPECT_EQ(scan(repeat("stablehlo.add %a, %b : f32\n", 4), limits),
            "more than 3 operations");
  EXPECT_EQ(scan(repeat("\"stablehlo.add\"(%a)\n", 4), limits),
            "more than 3 operations");
}

TEST(BoundText, Numbers) {
  EXPECT_EQ(scan(std::string(1024, '1')), "");
  EXPECT_EQ(scan(std::string(1025, '1')),
            "a number of 1025 digits, at most 1024 are read");
  EXPECT_EQ(scan("%x#1000000"), "");
  EXPECT_EQ(scan("%x#1000001"),
            "result number 1000001, at most 1000000 are read");
  EXPECT_EQ(scan("%x:4294967295 = "),
            "result number 4294967295, at most 1000000 are read");
}

TEST(BoundText, ResultNumbersTogether) {
  EXPECT_EQ(scan("%x#600000 %y#400000 %x#500000"), "");
  EXPECT_EQ(scan("%x#600000 %y#400001"),
            "result numbers that add up to 1000001, at most 1000000 are read");
  // A text that is longer can hold operations with as many results.
  std::string blanks(1000001, ' ');
  EXPECT_EQ(scan("%x#600000 %y#400001" + blanks), "");
}

TEST(BoundText, Aliases) {
  auto chain = [](int length) {
    std::string text = "#a0 = 1\n";
    for (int i = 1; i < length; ++i)
      text +=
          "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + "]\n";
    return text;
  };
  EXPECT_EQ(scan(chain(1024)), "");
  EXPECT_EQ(scan(chain(1025)), "a chain of more than 1024 aliases");
  // Each alias holds the one before twice: 2^n parts from n lines.
  std::string doubling = "!t0 = i32\n";
  for (int i = 1; i < 64; ++i) {
    std::string before = "!t" + std::to_string(i - 1);
    doubling +=
        "!t" + std::to_string(i) + " = tuple<" + before + ", " + before + ">\n";
  }
  EXPECT_EQ(scan(doubling), "alias '!t19' expands to more than 1000000 parts");
  // Uses in the module are not part of the last definition.
  EXPECT_EQ(scan("#loc = 1\nmodule {\n" + repeat("x #loc y\n", 3000) + "}\n"),
            "");
}

TEST(BoundText, AffineExpressions) {
  EXPECT_EQ(scan("affine_map<(d0) -> (d0)>"),
            "'affine_map' is not part of the input language");
}

TEST(BoundText, BooleansTakeOneBit) {
  // Ten elements, the third and the last set: bits 2 and 9.
  EXPECT_EQ(recode("dense<\"0x00000100000000000001\"> : tensor<10xi1>"),
            "dense<\"0x0402\"                > : tensor<10xi1>");
  // Two dimensions.
  EXPECT_EQ(recode("dense<\"0x01010101010101010101\"> : tensor<2x5xi1>"),
            "dense<\"0xFF03\"                > : tensor<2x5xi1>");
}

TEST(BoundText, OtherConstantsStay) {
  for (llvm::StringRef text :
       {"dense<\"0x0402\"> : tensor<10xi1>",     // packed already
        "dense<\"0x0001\"> : tensor<2xi8>",      // no booleans
        "dense<\"0x00010203\"> : tensor<1xi32>", // no booleans
        "dense<true> : tensor<10xi1>",           // no hexadecimal text
        "dense<\"0xFF\"> : tensor<100xi1>",      // a packed splat
        "{a = \"0x000000000000000000\"}"})       // no constant
    EXPECT_EQ(recode(text.str()), text);
  EXPECT_EQ(recode("dense<\"0x01\"> : tensor<100xi1>"),
            "dense<\"0xFF\"> : tensor<100xi1>");
}

TEST(BoundText, BooleansAreZeroOrOne) {
  EXPECT_EQ(scan("dense<\"0x00000200000000000001\"> : tensor<10xi1>"),
            "byte 0x02 in a boolean constant, expected 0x00 or 0x01");
}

TEST(BoundText, AnyPrefixIsFine) {
  std::string text = "#loc1 = loc(\"a\")\nmodule { %0:2 = \"x.y\"(%a#1) <{v = "
                     "dense<\"0x0001\"> "
                     ": tensor<2xi1>}> : (tensor<4x?xf32>) -> f32 // end\n}";
  for (size_t length = 0; length <= text.size(); ++length)
    EXPECT_EQ(scan(text.substr(0, length)), "") << length;
}

} // namespace
