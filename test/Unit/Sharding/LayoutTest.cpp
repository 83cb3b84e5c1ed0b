//===- LayoutTest.cpp - Text and arithmetic of layouts --------------------===//

#include "tenon/Sharding/Layout.h"

#include <gtest/gtest.h>

using namespace tenon::sharding;

namespace {

Mesh meshOf(llvm::StringRef text) {
  std::string error;
  auto mesh = Mesh::parse(text, error);
  EXPECT_TRUE(mesh) << error;
  return mesh.value_or(Mesh());
}

Layout layoutOf(llvm::StringRef text, const Mesh &mesh) {
  std::string error;
  auto layout = Layout::parse(text, mesh, error);
  EXPECT_TRUE(layout) << error;
  return layout.value_or(Layout());
}

std::string errorOf(llvm::StringRef text, const Mesh &mesh) {
  std::string error;
  EXPECT_FALSE(Layout::parse(text, mesh, error));
  return error;
}

TEST(Layout, TextIsReadBack) {
  Mesh mesh = meshOf("data=2,model=8");
  for (const char *text :
       {"[]", "[-]", "[data, -]", "[model data, -]", "[model:(2)4 data]",
        "[data, model:(1)2] sum(model:(2)4)", "[-] max(data model)"})
    EXPECT_EQ(layoutOf(text, mesh).text(mesh), text);
  EXPECT_EQ(meshOf(" data=2, model=8").text(), "data=2,model=8");
}

TEST(Layout, WrongTextIsExplained) {
  Mesh mesh = meshOf("data=2,model=8");
  EXPECT_EQ(errorOf("[pipe]", mesh),
            "the mesh data=2,model=8 has no axis 'pipe'");
  EXPECT_EQ(errorOf("[data, data]", mesh), "axis 'data' is used twice");
  EXPECT_EQ(errorOf("[model:(1)4, model:(2)4]", mesh),
            "axis 'model' is used twice");
  EXPECT_EQ(errorOf("[model:(3)2]", mesh),
            "an axis of size 8 has no part (3)2");
  EXPECT_EQ(errorOf("[data] -", mesh), "'-' stands behind the layout");
  EXPECT_EQ(errorOf("[data", mesh),
            "expected ']' before '' in a layout such as '[data, -]'");
}

TEST(Layout, ExampleOfTheHeader) {
  Mesh mesh = meshOf("data=2,model=2");
  Layout layout = layoutOf("[model, data]", mesh);
  EXPECT_EQ(layout.localShape({5, 4}), (llvm::SmallVector<int64_t>{3, 2}));
  EXPECT_EQ(mesh.indexAlong(1, layout.dims[0]), 1);
  EXPECT_EQ(mesh.indexAlong(1, layout.dims[1]), 0);
  layout = layoutOf("[data model, -]", mesh);
  EXPECT_EQ(layout.localShape({5, 4}), (llvm::SmallVector<int64_t>{2, 4}));
  EXPECT_EQ(mesh.indexAlong(2, layout.dims[0]), 2);
  EXPECT_FALSE(nests(5, 2, 4));
  EXPECT_TRUE(nests(6, 3, 6));
}

TEST(Layout, GroupsDifferAlongParts) {
  Mesh mesh = meshOf("data=2,model=4");
  auto groups = mesh.groupsAlong(layoutOf("[model:(1)2]", mesh).dims[0]);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0], (llvm::SmallVector<int64_t>{0, 2}));
  EXPECT_EQ(groups[3], (llvm::SmallVector<int64_t>{5, 7}));
  groups = mesh.groupsAlong(layoutOf("[model:(2)2 data]", mesh).dims[0]);
  EXPECT_EQ(groups[0], (llvm::SmallVector<int64_t>{0, 4, 1, 5}));
}

TEST(Layout, PartsAreCutAtCounts) {
  Mesh mesh = meshOf("data=2,model=8");
  auto parts = layoutOf("[data model]", mesh).dims[0];
  auto [first, rest] = cutAt(parts, 4);
  EXPECT_EQ(countOf(first), 4);
  Layout cut;
  cut.dims = {first, rest};
  EXPECT_EQ(cut.text(mesh), "[data model:(1)2, model:(2)4]");
  EXPECT_EQ(joined({first[1], rest[0]}), layoutOf("[model]", mesh).dims[0]);
}

} // namespace
