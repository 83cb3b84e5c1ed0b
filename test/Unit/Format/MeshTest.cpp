//===- MeshTest.cpp - How a mesh of ranks is written ----------------------===//
//
// Axes from text and back, and what is said of other text.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Mesh.h"

#include <gtest/gtest.h>

using namespace tenon::format;

static std::string errorOf(std::string_view text) {
  std::string error;
  EXPECT_FALSE(parseMesh(text, error)) << text;
  return error;
}

TEST(Mesh, TextAndBack) {
  std::string error;
  auto axes = parseMesh(" data=2, model_1=4 ", error);
  ASSERT_TRUE(axes) << error;
  EXPECT_EQ(*axes, (std::vector<MeshAxis>{{"data", 2}, {"model_1", 4}}));
  EXPECT_EQ(meshText(*axes), "data=2,model_1=4");
  EXPECT_EQ(meshText({}), "");
}

TEST(Mesh, WrongTextIsExplained) {
  for (std::string word :
       {"", "data", "data=", "=2", "data=0", "data=-2", "data= 2", "data =2",
        "a-b=2", "data=2x", "x=1=2", "data=9223372036854775808"})
    EXPECT_EQ(errorOf(word), "'" + word +
                                 "' is no axis, expected a name and a positive "
                                 "size as in 'data=2'");
  EXPECT_EQ(errorOf("x=2,"), errorOf(""));
  EXPECT_EQ(errorOf("x=2,x=2"), "there are two axes 'x'");
  EXPECT_EQ(errorOf("x=100,y=100"), "'x=100,y=100' has more than 4096 devices");
  std::string error;
  EXPECT_TRUE(parseMesh("x=64,y=64", error));
}
