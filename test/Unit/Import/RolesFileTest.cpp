//===- RolesFileTest.cpp - The file of --roles ----------------------------===//
//
// What the file may say, and the words for what it may not.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/RolesFile.h"

#include <gtest/gtest.h>

using namespace tenon::importer;

namespace {

std::string messageFor(llvm::StringRef text) {
  auto entries = parseRolesFile(text);
  return entries ? "" : llvm::toString(entries.takeError());
}

TEST(RolesFile, Entries) {
  auto entries = parseRolesFile(
      R"({"params.w": {"role": "parameter", "result": 3}, "arg7": {"role": "batch"}})");
  ASSERT_TRUE(bool(entries));
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].argument, "arg7");
  EXPECT_EQ((*entries)[0].role, tenon::step::Role::batch);
  EXPECT_FALSE((*entries)[0].result);
  EXPECT_EQ((*entries)[1].argument, "params.w");
  EXPECT_EQ((*entries)[1].result, 3);
}

TEST(RolesFile, Refused) {
  EXPECT_EQ(messageFor("[]"),
            "expected an object from argument names to roles");
  EXPECT_EQ(messageFor(R"({"w": 1})"),
            "entry 'w' must be an object with \"role\" and \"result\"");
  EXPECT_EQ(messageFor(R"({"w": {}})"),
            "entry 'w' has neither \"role\" nor \"result\"");
  EXPECT_EQ(messageFor(R"({"w": {"result": -1}})"),
            "entry 'w': \"result\" is -1, expected the index of a result of "
            "@main");
  EXPECT_NE(messageFor(R"({"w": {"role": "x"}})"), "");
  EXPECT_NE(messageFor(R"({"w": )"), "");
}

TEST(RolesFile, NestingIsBounded) {
  EXPECT_EQ(messageFor(std::string(100000, '[')),
            "nested deeper than 16 brackets, expected two");
  // Brackets in a name are none.
  EXPECT_EQ(
      messageFor("{\"" + std::string(100, '[') + "\": {\"role\": \"batch\"}}"),
      "");
}

} // namespace
