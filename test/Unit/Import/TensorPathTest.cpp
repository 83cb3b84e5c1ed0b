//===- TensorPathTest.cpp - Paths of tensors ------------------------------===//
//
// Paths as JAX and PyTorch write them, split and joined.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/TensorPath.h"

#include <gtest/gtest.h>

using namespace tenon::importer;

namespace {

std::string joined(llvm::StringRef text) {
  return joinKeys(parseTensorPath(text));
}

TEST(TensorPath, KeysAttributesAndIndices) {
  TensorPath path = parseTensorPath("state['opt'][0].mu['l1']['kernel']");
  ASSERT_EQ(path.size(), 6u);
  EXPECT_EQ(path[0], (PathKey{"state", false}));
  EXPECT_EQ(path[1], (PathKey{"opt", false}));
  EXPECT_EQ(path[2], (PathKey{"0", true}));
  EXPECT_EQ(path[3], (PathKey{"mu", false}));
  EXPECT_EQ(joinKeys(path), "state.opt.0.mu.l1.kernel");
}

TEST(TensorPath, QuotesAndBrackets) {
  EXPECT_EQ(joined("p[\"a\"]['b']"), "p.a.b");
  EXPECT_EQ(joined("p['x]y'][2]"), "p.x]y.2");
  EXPECT_EQ(joined("p['layers.0.weight']"), "p.layers.0.weight");
  EXPECT_EQ(joined("p[<flat index 3>]"), "p.3");
  // A quoted number is a key, not a position.
  EXPECT_FALSE(parseTensorPath("p['0']")[1].isIndex);
}

TEST(TensorPath, WhatIsNoPath) {
  EXPECT_TRUE(parseTensorPath("").empty());
  EXPECT_EQ(joined("x"), "x");
  EXPECT_EQ(joined("[0]['w']"), "0.w");
  // Damaged text ends somewhere.
  EXPECT_EQ(joined("p['w"), "p.'w");
  EXPECT_EQ(joined("p..["), "p.");
}

TEST(TensorPath, ResultRoot) {
  EXPECT_EQ(joinKeys(withoutResultRoot(parseTensorPath("result[0]['w']"))),
            "0.w");
  EXPECT_EQ(joinKeys(withoutResultRoot(parseTensorPath("result['w']"))), "w");
  EXPECT_EQ(joinKeys(withoutResultRoot(parseTensorPath("[0]['w']"))), "0.w");
  EXPECT_TRUE(withoutResultRoot(parseTensorPath("result")).empty());
}

} // namespace
