//===- ElementTypesTest.cpp -----------------------------------------------===//
//
// The bytes tensors take in files and in memory.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/ElementTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace {

TEST(ElementTypes, StoredBytes) {
  MLIRContext context;
  Builder builder(&context);
  auto bytes = [](ArrayRef<int64_t> shape, Type element) {
    return tenon::storedBytes(RankedTensorType::get(shape, element));
  };
  EXPECT_EQ(bytes({3, 5}, builder.getF32Type()), 60);
  EXPECT_EQ(bytes({3, 5}, builder.getBF16Type()), 30);
  EXPECT_EQ(bytes({3, 5}, builder.getI1Type()), 15); // one byte each
  EXPECT_EQ(bytes({}, builder.getI64Type()), 8);
  EXPECT_EQ(bytes({4, 0}, builder.getF64Type()), 0);
  EXPECT_EQ(bytes({3}, ComplexType::get(builder.getF32Type())), 24);
  EXPECT_EQ(bytes({3}, ComplexType::get(builder.getF64Type())), 48);
}

} // namespace
