//===- ExpandStochasticRounding.cpp - Rounding by chance, in plain words --===//
//
// Writes out what Dialect/Step/StochasticRounding.h computes.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/StochasticRounding.h"
#include "tenon/Precision/Passes.h"

namespace tenon::precision {
#define GEN_PASS_DEF_EXPANDSTOCHASTICROUNDINGPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

/// Makes operations on words of a shape, at one place.
class WordBuilder {
public:
  WordBuilder(OpBuilder &builder, Location at, ArrayRef<int64_t> shape)
      : builder(builder), at(at), shape(shape) {}

  RankedTensorType typeOf(Type element) const {
    return RankedTensorType::get(shape, element);
  }
  RankedTensorType words() const {
    return typeOf(builder.getIntegerType(32, /*isSigned=*/false));
  }
  Value constant(uint32_t value) {
    Value &known = constants[value];
    if (!known)
      known = stablehlo::ConstantOp::create(
          builder, at, DenseElementsAttr::get(words(), APInt(32, value)));
    return known;
  }
  template <typename Op>
  Value make(Value x, Value y) {
    return Op::create(builder, at, x, y);
  }
  template <typename Op>
  Value make(Value x, uint32_t y) {
    return make<Op>(x, constant(y));
  }
  template <typename Op>
  Value convert(Value x, Type element) {
    return Op::create(builder, at, typeOf(element), x);
  }
  Value choose(Value condition, Value x, Value y) {
    return stablehlo::SelectOp::create(builder, at, condition, x, y);
  }
  Value isAbove(Value x, uint32_t limit) {
    return stablehlo::CompareOp::create(builder, at, x, constant(limit),
                                        stablehlo::ComparisonDirection::GT,
                                        stablehlo::ComparisonType::UNSIGNED);
  }
  /// A scalar everywhere.
  Value spread(Value scalar) {
    return stablehlo::BroadcastInDimOp::create(builder, at, words(), scalar,
                                               ArrayRef<int64_t>());
  }
  /// The row-major index of each element.
  Value indices() {
    auto row = RankedTensorType::get({words().getNumElements()},
                                     words().getElementType());
    return stablehlo::ReshapeOp::create(
        builder, at, words(), stablehlo::IotaOp::create(builder, at, row, 0));
  }

  Value folded(Value x, uint32_t by) {
    return make<stablehlo::XorOp>(x,
                                  make<stablehlo::ShiftRightLogicalOp>(x, by));
  }
  Value mixingRound(Value x, int round) {
    return make<stablehlo::MultiplyOp>(folded(x, step::roundingShifts[round]),
                                       step::roundingMultipliers[round]);
  }
  Value mixed(Value x) {
    for (int round : {0, 1, 2})
      x = mixingRound(x, round);
    return folded(x, step::roundingShifts[3]);
  }

private:
  OpBuilder &builder;
  Location at;
  ArrayRef<int64_t> shape;
  llvm::DenseMap<uint32_t, Value> constants;
};

class RoundingExpander {
public:
  RoundingExpander(step::StochasticRoundOp op, bool flushes)
      : op(op), flushes(flushes), builder(op) {}

  void run() {
    using namespace stablehlo;
    WordBuilder scalars(builder, op.getLoc(), {});
    Value first = scalars.mixed(scalars.make<XorOp>(keyWord(0), op.getStep()));
    Value second = scalars.mixed(scalars.make<XorOp>(keyWord(1), first));
    WordBuilder words(
        builder, op.getLoc(),
        cast<RankedTensorType>(op.getResult().getType()).getShape());
    Value indices = op.getIndices() ? op.getIndices() : words.indices();
    Value x = words.make<XorOp>(indices, words.spread(first));
    x = words.make<AddOp>(words.mixingRound(x, 0), words.spread(second));
    x = words.mixingRound(words.mixingRound(x, 1), 2);
    Value random = words.make<ShiftRightLogicalOp>(x, 16);

    Value bits = words.convert<BitcastConvertOp>(
        op.getValue(), words.words().getElementType());
    Value magnitude = words.make<AndOp>(bits, 0x7fffffff);
    if (flushes)
      bits = words.choose(words.isAbove(magnitude, 0x007fffff), bits,
                          words.make<AndOp>(bits, 0x80000000));
    Value added = words.choose(words.isAbove(magnitude, 0x7f7f0000),
                               words.constant(0x8000), random);
    Value sum = words.choose(words.isAbove(magnitude, 0x7f800000),
                             words.make<OrOp>(bits, 0x00400000),
                             words.make<AddOp>(bits, added));
    Value upper = words.convert<ConvertOp>(
        words.make<ShiftRightLogicalOp>(sum, 16),
        builder.getIntegerType(16, /*isSigned=*/false));
    op.replaceAllUsesWith(
        words.convert<BitcastConvertOp>(upper, builder.getBF16Type()));
    op.erase();
  }

private:
  Value keyWord(int64_t index) {
    Value word = stablehlo::SliceOp::create(
        builder, op.getLoc(), op.getKey(), ArrayRef<int64_t>{index},
        ArrayRef<int64_t>{index + 1}, ArrayRef<int64_t>{1});
    return stablehlo::ReshapeOp::create(builder, op.getLoc(),
                                        op.getStep().getType(), word);
  }

  step::StochasticRoundOp op;
  bool flushes;
  OpBuilder builder;
};

struct ExpandStochasticRounding
    : public precision::impl::ExpandStochasticRoundingPassBase<
          ExpandStochasticRounding> {
  using ExpandStochasticRoundingPassBase::ExpandStochasticRoundingPassBase;

  void runOnOperation() override {
    SmallVector<step::StochasticRoundOp> found;
    getOperation().walk(
        [&](step::StochasticRoundOp op) { found.push_back(op); });
    for (step::StochasticRoundOp op : found)
      RoundingExpander(op, flushSubnormals).run();
  }
};

} // namespace
