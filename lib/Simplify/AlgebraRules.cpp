//===- AlgebraRules.cpp - Identities that hold for every float ------------===//
//
// What algebra allows and floating point does not is left out: x + 0 turns -0
// into +0, x - x is NaN for infinities, (a + b) + c is not a + (b + c). A
// conversion is taken away only where it was exact; a user's rounding stays.
// Where subnormal numbers are flushed, x * 1 flushes x, so it stays unless x
// cannot be subnormal.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "tenon/Analysis/FloatArithmetic.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {
namespace {

bool isBoolean(Value value) {
  return getElementTypeOrSelf(value.getType()).isInteger(1);
}
bool isInteger(Value value) {
  return isa<IntegerType>(getElementTypeOrSelf(value.getType()));
}

/// A splat of all bits set, or all clear.
bool isAllBits(Value value, bool set) {
  auto integer = dyn_cast_if_present<IntegerAttr>(splatOf(value));
  return integer &&
         (set ? integer.getValue().isAllOnes() : integer.getValue().isZero());
}

/// The infinity of that sign, or the extreme integer.
bool isExtreme(Value value, bool largest) {
  Attribute element = splatOf(value);
  if (auto real = dyn_cast_if_present<FloatAttr>(element))
    return real.getValue().isInfinity() &&
           real.getValue().isNegative() != largest;
  auto integer = dyn_cast_if_present<IntegerAttr>(element);
  if (!integer)
    return false;
  bool isUnsigned =
      integer.getType().isUnsignedInteger() || integer.getType().isInteger(1);
  const APInt &bits = integer.getValue();
  if (isUnsigned)
    return largest ? bits.isAllOnes() : bits.isZero();
  return largest ? bits.isMaxSignedValue() : bits.isMinSignedValue();
}

/// The operand a binary operation always equals, if there is one. Constants
/// stand on the right (ConstantToRight).
Value neutral(Operation *op, Subnormals subnormals) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  bool integer = isInteger(x);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AddOp>([&](auto) -> Value {
        if (integer ? isSplat(y, 0) : isNegativeZeroSplat(y))
          return x;
        if (isSplat(y, 0) && isNeverNegativeZero(x, subnormals))
          return x;
        return {};
      })
      .Case<SubtractOp>([&](auto) { return isSplat(y, 0) ? x : Value(); })
      .Case<MultiplyOp>([&](auto) -> Value {
        if (isSplat(y, 1))
          return x;
        return integer && isSplat(y, 0) ? y : Value();
      })
      .Case<DivideOp>([&](auto) { return isSplat(y, 1) ? x : Value(); })
      .Case<MaximumOp>([&](auto) {
        return x == y || isExtreme(y, /*largest=*/false) ? x : Value();
      })
      .Case<MinimumOp>([&](auto) {
        return x == y || isExtreme(y, /*largest=*/true) ? x : Value();
      })
      .Case<AndOp>([&](auto) -> Value {
        if (x == y || isAllBits(y, true))
          return x;
        return isAllBits(y, false) ? y : Value();
      })
      .Case<OrOp>([&](auto) -> Value {
        if (x == y || isAllBits(y, false))
          return x;
        return isAllBits(y, true) ? y : Value();
      })
      .Case<XorOp, ShiftLeftOp, ShiftRightLogicalOp, ShiftRightArithmeticOp>(
          [&](auto) { return isAllBits(y, false) ? x : Value(); })
      .Default([](Operation *) { return Value(); });
}

template <typename Op>
struct NeutralOperand : OpRewritePattern<Op> {
  NeutralOperand(MLIRContext *context, Subnormals subnormals)
      : OpRewritePattern<Op>(context), subnormals(subnormals) {}
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Value same = neutral(op, subnormals);
    if (!same || same.getType() != op.getType())
      return failure();
    // The operation would flush it.
    if (subnormals == Subnormals::flush && !isNeverSubnormal(same))
      return failure();
    rewriter.replaceOp(op, same);
    return success();
  }
  Subnormals subnormals;
};

/// Constants stand on the right, so that rules look there only.
template <typename Op>
struct ConstantToRight : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!constantOf(op.getLhs()) || constantOf(op.getRhs()))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      Value lhs = op.getLhs();
      op->setOperand(0, op.getRhs());
      op->setOperand(1, lhs);
    });
    return success();
  }
};

/// x / 2^k is x * 2^-k: both round the same exact value. Only where both powers
/// are normal numbers.
struct DivideByPowerOfTwo : OpRewritePattern<DivideOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivideOp op,
                                PatternRewriter &rewriter) const override {
    auto divisor = dyn_cast_if_present<FloatAttr>(splatOf(op.getRhs()));
    if (!divisor)
      return failure();
    APFloat inverse(divisor.getValue().getSemantics());
    if (divisor.getValue().isDenormal() ||
        !divisor.getValue().getExactInverse(&inverse) || inverse.isDenormal())
      return failure();
    Value factor =
        makeSplat(rewriter, op.getRhs().getLoc(), tensorTypeOf(op.getRhs()),
                  FloatAttr::get(divisor.getType(), inverse));
    rewriter.replaceOpWithNewOp<MultiplyOp>(op, op.getLhs(), factor);
    return success();
  }
};

/// An operation applied twice that gives back its operand.
template <typename Op>
struct Involution : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().template getDefiningOp<Op>();
    if (!inner)
      return failure();
    rewriter.replaceOp(op, inner.getOperand());
    return success();
  }
};

/// |-x| and ||x|| are |x|.
struct AbsOfSign : OpRewritePattern<AbsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AbsOp op,
                                PatternRewriter &rewriter) const override {
    Operation *inner = op.getOperand().getDefiningOp();
    if (isa_and_present<AbsOp>(inner))
      rewriter.replaceOp(op, inner->getResult(0));
    else if (isa_and_present<NegateOp>(inner))
      rewriter.modifyOpInPlace(
          op, [&] { op->setOperand(0, inner->getOperand(0)); });
    else
      return failure();
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

struct SimplifySelect : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op,
                                PatternRewriter &rewriter) const override {
    Value predicate = op.getPred(), yes = op.getOnTrue(), no = op.getOnFalse();
    auto truth = dyn_cast_if_present<IntegerAttr>(splatOf(predicate));
    if (truth) {
      rewriter.replaceOp(op, truth.getValue().isZero() ? no : yes);
      return success();
    }
    if (yes == no) {
      rewriter.replaceOp(op, yes);
      return success();
    }
    if (auto inverted = predicate.getDefiningOp<NotOp>()) {
      rewriter.replaceOpWithNewOp<SelectOp>(op, inverted.getOperand(), no, yes);
      return success();
    }
    if (isBoolean(op.getResult()) && predicate.getType() == op.getType() &&
        isAllBits(yes, true) && isAllBits(no, false)) {
      rewriter.replaceOp(op, predicate);
      return success();
    }
    // Nested choices on one predicate.
    auto inner = yes.getDefiningOp<SelectOp>();
    if (inner && inner.getPred() == predicate) {
      rewriter.modifyOpInPlace(op,
                               [&] { op->setOperand(1, inner.getOnTrue()); });
      return success();
    }
    inner = no.getDefiningOp<SelectOp>();
    if (inner && inner.getPred() == predicate) {
      rewriter.modifyOpInPlace(op,
                               [&] { op->setOperand(2, inner.getOnFalse()); });
      return success();
    }
    return failure();
  }
};

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Bits of an integer's magnitude, without its sign.
unsigned magnitudeBits(IntegerType type) {
  return type.isUnsigned() || type.getWidth() == 1 ? type.getWidth()
                                                   : type.getWidth() - 1;
}

/// Whether every value of `from` is one of `to`.
bool isExact(Type from, Type to) {
  if (from == to)
    return true;
  if (auto source = dyn_cast<FloatType>(from)) {
    auto target = dyn_cast<FloatType>(to);
    return target && source.getWidth() >= 16 &&
           APFloat::isRepresentableBy(source.getFloatSemantics(),
                                      target.getFloatSemantics());
  }
  auto source = dyn_cast<IntegerType>(from);
  if (!source || to.isInteger(1))
    return false;
  bool isSigned = !source.isUnsigned() && source.getWidth() > 1;
  if (auto target = dyn_cast<IntegerType>(to))
    return magnitudeBits(source) <= magnitudeBits(target) &&
           !(isSigned && target.isUnsigned());
  auto target = dyn_cast<FloatType>(to);
  // f16 holds its largest numbers with less than unit spacing up to 2^11 only,
  // so precision alone decides.
  return target && target.getWidth() >= 16 &&
         magnitudeBits(source) <= target.getFPMantissaWidth();
}

struct ConvertChain : OpRewritePattern<ConvertOp> {
  ConvertChain(MLIRContext *context, Subnormals subnormals)
      : OpRewritePattern(context), subnormals(subnormals) {}
  LogicalResult matchAndRewrite(ConvertOp op,
                                PatternRewriter &rewriter) const override {
    Value source = op.getOperand();
    Type to = getElementTypeOrSelf(op.getType());
    if (source.getType() == op.getType()) {
      rewriter.replaceOp(op, source);
      return success();
    }
    auto inner = source.getDefiningOp<ConvertOp>();
    if (!inner)
      return failure();
    Type from = getElementTypeOrSelf(inner.getOperand().getType());
    if (!isExact(from, getElementTypeOrSelf(inner.getType())))
      return failure();
    // What is left, a copy or a widening of bf16, does not flush.
    bool moves = from == to || (from.isBF16() && to.isF32());
    if (subnormals == Subnormals::flush && moves &&
        !isNeverSubnormal(inner.getOperand()))
      return failure();
    rewriter.replaceOpWithNewOp<ConvertOp>(op, inner.getOperand(), to);
    return success();
  }
  Subnormals subnormals;
};

struct BitcastChain : OpRewritePattern<BitcastConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BitcastConvertOp op,
                                PatternRewriter &rewriter) const override {
    Value source = op.getOperand();
    if (auto inner = source.getDefiningOp<BitcastConvertOp>())
      source = inner.getOperand();
    if (source.getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, source);
    return success();
  }
};

template <typename Part, unsigned index>
struct PartOfComplex : OpRewritePattern<Part> {
  using OpRewritePattern<Part>::OpRewritePattern;
  LogicalResult matchAndRewrite(Part op,
                                PatternRewriter &rewriter) const override {
    auto complex = op.getOperand().template getDefiningOp<ComplexOp>();
    if (!complex)
      return failure();
    rewriter.replaceOp(op, complex->getOperand(index));
    return success();
  }
};

template <template <typename> class Pattern, typename... Ops,
          typename... Arguments>
void addFor(RewritePatternSet &patterns, Arguments... arguments) {
  patterns.add<Pattern<Ops>...>(patterns.getContext(), arguments...);
}

} // namespace

void populateAlgebraRules(RewritePatternSet &patterns, Subnormals subnormals) {
  addFor<NeutralOperand, AddOp, SubtractOp, MultiplyOp, DivideOp, MaximumOp,
         MinimumOp, AndOp, OrOp, XorOp, ShiftLeftOp, ShiftRightLogicalOp,
         ShiftRightArithmeticOp>(patterns, subnormals);
  addFor<ConstantToRight, AddOp, MultiplyOp, MaximumOp, MinimumOp, AndOp, OrOp,
         XorOp>(patterns);
  addFor<Involution, NegateOp, NotOp>(patterns);
  patterns.add<ConvertChain>(patterns.getContext(), subnormals);
  patterns.add<DivideByPowerOfTwo, AbsOfSign, SimplifySelect, BitcastChain,
               PartOfComplex<RealOp, 0>, PartOfComplex<ImagOp, 1>>(
      patterns.getContext());
}

} // namespace tenon::simplify
