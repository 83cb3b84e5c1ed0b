//===- ElementTypeTest.cpp - Names of element types -----------------------===//
//
// Names go both ways, numbers are those of the file format.
//
//===----------------------------------------------------------------------===//

#include "tenon/Support/ElementType.h"

#include <gtest/gtest.h>
#include <set>

using namespace tenon;

TEST(ElementType, NamesGoBothWays) {
  std::set<std::string_view> names, safetensors;
  for (int i = 0; i <= int(ElementType::f8E8M0FNU); ++i) {
    auto type = ElementType(i);
    EXPECT_TRUE(names.insert(name(type)).second);
    EXPECT_TRUE(safetensors.insert(safetensorsName(type)).second);
    EXPECT_EQ(fromName<ElementType>(name(type)), type);
    EXPECT_EQ(elementTypeFromSafetensorsName(safetensorsName(type)), type);
    EXPECT_GT(byteWidth(type), 0);
  }
  EXPECT_EQ(name(ElementType::ui32), "ui32");
  EXPECT_EQ(safetensorsName(ElementType::ui32), "U32");
  EXPECT_EQ(safetensorsName(ElementType::i1), "BOOL");
}

TEST(ElementType, UnknownNamesAreNothing) {
  for (const char *spelling : {"", "f8", "F32", "float", "i1 "})
    EXPECT_FALSE(fromName<ElementType>(spelling)) << spelling;
  for (const char *spelling : {"", "f32", "F8", "BOOL2"})
    EXPECT_FALSE(elementTypeFromSafetensorsName(spelling)) << spelling;
  EXPECT_EQ(name(ElementType(200)), "invalid");
}

TEST(ElementType, NumbersAreThoseOfTheFormat) {
  EXPECT_EQ(int(ElementType::i1), 0);
  EXPECT_EQ(int(ElementType::i64), 4);
  EXPECT_EQ(int(ElementType::ui64), 8);
  EXPECT_EQ(int(ElementType::bf16), 10);
  EXPECT_EQ(int(ElementType::f64), 12);
}
