//===- SuccessionTest.cpp - Which result becomes which argument -----------===//
//
// Signatures as exporters write them, among them those where donation, names
// and positions disagree.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Succession.h"
#include "tenon/Import/TensorNames.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace tenon::importer;

namespace {

class SuccessionTest : public testing::Test {
protected:
  mlir::Type vector(int64_t extent) {
    return mlir::RankedTensorType::get({extent},
                                       mlir::Float32Type::get(&context));
  }
  void argument(llvm::StringRef path, int64_t extent, bool donated = true) {
    ArgumentLeaf leaf;
    leaf.path = parseTensorPath(path);
    leaf.type = vector(extent);
    leaf.donated = donated;
    arguments.push_back(leaf);
  }
  void result(llvm::StringRef path, int64_t extent) {
    results.push_back({parseTensorPath(path), vector(extent)});
  }
  /// The successors, -1 for none.
  std::vector<int64_t> decide() {
    succession = decideSuccession(arguments, results);
    std::vector<int64_t> list;
    for (const auto &successor : succession.ofArgument)
      list.push_back(successor ? successor->result : -1);
    return list;
  }

  mlir::MLIRContext context;
  std::vector<ArgumentLeaf> arguments;
  std::vector<ResultLeaf> results;
  Succession succession;
};

using List = std::vector<int64_t>;

TEST_F(SuccessionTest, NamesIgnoreOrder) {
  argument("state['a']", 4);
  argument("state['b']", 4);
  argument("x", 4, false);
  result("result[0]['b']", 4);
  result("result[0]['a']", 4);
  result("result[1]", 4);
  EXPECT_EQ(decide(), (List{1, 0, -1}));
  EXPECT_EQ(succession.ofArgument[0]->evidence, SuccessionEvidence::names);
}

TEST_F(SuccessionTest, DroppedLeavesDoNotMatter) {
  argument("state['b']", 4);
  result("result[0]['a']", 4);
  result("result[0]['b']", 4);
  EXPECT_EQ(decide(), (List{1}));
}

TEST_F(SuccessionTest, DroppedLeavesWithoutNamesAreAsked) {
  argument("", 4);
  result("result[0]['a']", 4);
  result("result[0]['b']", 4);
  EXPECT_EQ(decide(), (List{-1}));
  EXPECT_EQ(succession.undecided, (List{0}));
}

TEST_F(SuccessionTest, PositionsNeedOneChoice) {
  argument("", 4);
  argument("", 8);
  argument("", 2, false);
  result("result[0]['a']", 4);
  result("result[0]['b']", 8);
  result("result[1]", 1);
  EXPECT_EQ(decide(), (List{0, 1, -1}));
  EXPECT_EQ(succession.ofArgument[0]->evidence, SuccessionEvidence::position);
  // A second group of the same types makes it a guess.
  result("result[2]['c']", 4);
  result("result[2]['d']", 8);
  EXPECT_EQ(decide(), (List{-1, -1, -1}));
  EXPECT_EQ(succession.undecided, (List{0, 1}));
}

TEST_F(SuccessionTest, PositionsSkipMetricsInFront) {
  argument("", 4);
  argument("", 8);
  result("result[0]", 1);
  result("result[1]['a']", 4);
  result("result[1]['b']", 8);
  EXPECT_EQ(decide(), (List{1, 2}));
}

TEST_F(SuccessionTest, PositionsWithoutAnyPaths) {
  argument("", 4);
  argument("", 8);
  result("", 4);
  result("", 8);
  result("", 1);
  EXPECT_EQ(decide(), (List{0, 1}));
}

TEST_F(SuccessionTest, EqualTreesArePairedByPositionOnly) {
  argument("params['w']", 4);
  argument("velocity['w']", 4);
  result("result[0]['w']", 4);
  result("result[1]['w']", 4);
  result("result[2]", 1);
  EXPECT_EQ(decide(), (List{0, 1}));
  EXPECT_EQ(succession.ofArgument[0]->evidence, SuccessionEvidence::position);
}

TEST_F(SuccessionTest, EqualTreesWithADroppedLeafAreAsked) {
  argument("params['w']", 4);
  argument("velocity['w']", 4);
  result("result[0]['v']", 4);
  result("result[0]['w']", 4);
  result("result[1]['v']", 4);
  result("result[1]['w']", 4);
  EXPECT_EQ(decide(), (List{-1, -1}));
}

TEST_F(SuccessionTest, TypesMustAgree) {
  argument("state['a']", 4);
  result("result[0]['a']", 8);
  EXPECT_EQ(decide(), (List{-1}));
  EXPECT_EQ(succession.undecided, (List{0}));
}

TEST_F(SuccessionTest, BareRootsProveNothing) {
  argument("x", 4, false);
  result("result[1]", 4);
  EXPECT_EQ(decide(), (List{-1}));
  EXPECT_TRUE(succession.undecided.empty());
}

TEST_F(SuccessionTest, TupleElementsReturnedOneByOne) {
  argument("state[0]['w']", 4);
  argument("state[1]['m']", 4);
  result("result[0]['w']", 4);
  result("result[1]['m']", 4);
  EXPECT_EQ(decide(), (List{0, 1}));
  EXPECT_EQ(succession.ofArgument[1]->evidence, SuccessionEvidence::names);
}

TEST_F(SuccessionTest, StatementsComeFirst) {
  argument("state['a']", 4);
  argument("state['b']", 4);
  result("result[0]['a']", 4);
  result("result[0]['b']", 4);
  arguments[0].stated = 1;
  arguments[1].excluded = true;
  EXPECT_EQ(decide(), (List{1, -1}));
  EXPECT_EQ(succession.ofArgument[0]->evidence, SuccessionEvidence::statement);
}

TEST_F(SuccessionTest, Names) {
  argument("state['w']", 4);
  argument("batch['w']", 4, false);
  argument("", 2, false);
  result("result[0]['w']", 4);
  result("result[1]", 1);
  result("result[2]", 1);
  result("", 1);
  decide();
  TensorNames names = nameTensors(arguments, results, succession);
  // Two tensors called `w`: both keep what tells them apart.
  EXPECT_EQ(names.ofArgument,
            (std::vector<std::string>{"0.w", "batch.w", "arg2"}));
  EXPECT_EQ(names.ofResult,
            (std::vector<std::string>{"0.w", "result1", "result2", "result3"}));
}

} // namespace
