//===- StableHLOBuildersTest.cpp - Result types that builders derive ------===//
//
// Operations built from operands alone get the type that the operation's
// meaning gives; each is verified as well.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace {

class StableHLOBuilders : public ::testing::Test {
protected:
  StableHLOBuilders() : builder(&context) {
    context.loadDialect<StableHLODialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
  }

  /// A constant of zeros.
  Value zeros(ArrayRef<int64_t> shape, Type elementType) {
    auto type = RankedTensorType::get(shape, elementType);
    return ConstantOp::create(builder, builder.getUnknownLoc(),
                              cast<ElementsAttr>(builder.getZeroAttr(type)));
  }

  template <typename Op, typename... Arguments>
  Op make(Arguments &&...arguments) {
    return Op::create(builder, builder.getUnknownLoc(),
                      std::forward<Arguments>(arguments)...);
  }

  /// Checks an operation, and the type of its result.
  void expect(Operation *op, ArrayRef<int64_t> shape, Type elementType) {
    EXPECT_TRUE(succeeded(verify(op)));
    EXPECT_EQ(op->getResult(0).getType(),
              RankedTensorType::get(shape, elementType));
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  Type f32 = Float32Type::get(&context);
  Type i1 = IntegerType::get(&context, 1);
  Type i32 = IntegerType::get(&context, 32);
};

TEST_F(StableHLOBuilders, Elementwise) {
  Value x = zeros({2, 3}, f32);
  expect(make<AddOp>(x, x), {2, 3}, f32);
  expect(make<TanhOp>(x), {2, 3}, f32);
  expect(make<NegateOp>(x), {2, 3}, f32);
  expect(make<ConvertOp>(x, i32), {2, 3}, i32);
  expect(make<IsFiniteOp>(x), {2, 3}, i1);
  expect(make<CompareOp>(x, x, ComparisonDirection::LT), {2, 3}, i1);
  auto compare =
      make<CompareOp>(x, x, ComparisonDirection::GE, ComparisonType::FLOAT);
  expect(compare, {2, 3}, i1);
  EXPECT_EQ(compare.getCompareType(), ComparisonType::FLOAT);
  expect(make<SelectOp>(compare, x, x), {2, 3}, f32);
  expect(make<ClampOp>(x, x, x), {2, 3}, f32);
  expect(make<ReducePrecisionOp>(x, 5u, 10u), {2, 3}, f32);
}

TEST_F(StableHLOBuilders, Complex) {
  Value x = zeros({4}, f32);
  Value z = make<ComplexOp>(x, x);
  expect(z.getDefiningOp(), {4}, ComplexType::get(f32));
  expect(make<RealOp>(z), {4}, f32);
  expect(make<ImagOp>(z), {4}, f32);
  expect(make<AbsOp>(z), {4}, f32);
  expect(make<AbsOp>(x), {4}, f32);
}

TEST_F(StableHLOBuilders, Shape) {
  Value x = zeros({4, 6}, f32), zero = zeros({}, f32);
  expect(make<TransposeOp>(x, ArrayRef<int64_t>{1, 0}), {6, 4}, f32);
  expect(make<ReverseOp>(x, ArrayRef<int64_t>{1}), {4, 6}, f32);
  // Indices 1, 3, 5 of the last dimension.
  expect(make<SliceOp>(x, ArrayRef<int64_t>{0, 1}, ArrayRef<int64_t>{4, 6},
                       ArrayRef<int64_t>{1, 2}),
         {4, 3}, f32);
  // 1 + 4 + 0 rows; -1 + (6 + 5 between) + 2 columns.
  expect(make<PadOp>(x, zero, ArrayRef<int64_t>{1, -1}, ArrayRef<int64_t>{0, 2},
                     ArrayRef<int64_t>{0, 1}),
         {5, 12}, f32);
  expect(make<PadOp>(zeros({0}, f32), zero, ArrayRef<int64_t>{1},
                     ArrayRef<int64_t>{2}, ArrayRef<int64_t>{5}),
         {3}, f32);
  expect(make<ConcatenateOp>(ValueRange{x, x, x}, 1), {4, 18}, f32);
}

TEST_F(StableHLOBuilders, Indexing) {
  Value x = zeros({4, 6}, f32), i = zeros({}, i32), u = zeros({1, 2}, f32);
  expect(make<DynamicSliceOp>(x, ValueRange{i, i}, ArrayRef<int64_t>{1, 2}),
         {1, 2}, f32);
  expect(make<DynamicUpdateSliceOp>(x, u, ValueRange{i, i}), {4, 6}, f32);
}

TEST_F(StableHLOBuilders, ConstantsMaterialize) {
  auto *dialect = context.getLoadedDialect<StableHLODialect>();
  auto type = RankedTensorType::get({2}, f32);
  Attribute value = builder.getZeroAttr(type);
  Operation *constant = dialect->materializeConstant(builder, value, type,
                                                     builder.getUnknownLoc());
  ASSERT_TRUE(constant);
  EXPECT_EQ(cast<ConstantOp>(constant).getValue(), value);
  // Only the elements of a tensor of that type are a constant of it.
  auto other = RankedTensorType::get({3}, f32);
  EXPECT_FALSE(dialect->materializeConstant(builder, value, other,
                                            builder.getUnknownLoc()));
  EXPECT_FALSE(dialect->materializeConstant(builder, builder.getUnitAttr(),
                                            type, builder.getUnknownLoc()));
}

TEST_F(StableHLOBuilders, CompatibleTypes) {
  auto tensor = [&](ArrayRef<int64_t> shape, Attribute encoding = {}) {
    return RankedTensorType::get(shape, f32, encoding);
  };
  constexpr int64_t any = ShapedType::kDynamic;
  auto bounds = TypeExtensionsAttr::get(&context, {4, any});
  EXPECT_TRUE(areCompatibleTypes(tensor({2, any}), tensor({any, 3})));
  EXPECT_TRUE(areCompatibleTypes(tensor({any, any}, bounds), tensor({any, 3})));
  EXPECT_FALSE(areCompatibleTypes(tensor({2}), tensor({3})));
  EXPECT_FALSE(areCompatibleTypes(tensor({2}), tensor({2, 1})));
  EXPECT_FALSE(
      areCompatibleTypes(tensor({2}), RankedTensorType::get({2}, i32)));
}

} // namespace
