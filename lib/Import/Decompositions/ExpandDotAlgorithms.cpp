//===- ExpandDotAlgorithms.cpp - Dots that say how they are computed ------===//
//
// Rounds the operands of such a dot as it asks, and writes plain dots, which
// multiply exactly what they are given and sum it in f32, or in f64 if that is
// their type. Every kind of code runs those, a library's included, so none has
// to know of algorithms. See Analysis/DotAlgorithm.h for what is understood.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"

#include "tenon/Analysis/DotAlgorithm.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tenon::importer {
#define GEN_PASS_DEF_EXPANDDOTALGORITHMSPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

namespace {

class DotExpansion {
public:
  DotExpansion(DotGeneralOp dot, const DotAlgorithm &algorithm)
      : builder(dot.getLoc(), dot), dot(dot), algorithm(algorithm) {}

  Value expand() {
    SmallVector<Value> lhs = components(dot.getLhs(), algorithm.lhs,
                                        algorithm.lhsComponents),
                       rhs = components(dot.getRhs(), algorithm.rhs,
                                        algorithm.rhsComponents);
    Value small;
    for (auto [l, r] : ArrayRef(algorithm.products).drop_back()) {
      Value product = multiply(lhs[l], rhs[r]);
      small = small ? AddOp::create(builder, small, product) : product;
    }
    auto [l, r] = algorithm.products.back();
    Value sum = multiply(lhs[l], rhs[r]);
    if (small)
      sum = AddOp::create(builder, numbersOnly(small), sum);
    return convert(convert(sum, algorithm.accumulation),
                   typeOf(dot.getResult()).getElementType());
  }

private:
  Value convert(Value value, Type element) {
    RankedTensorType type = typeOf(value);
    if (type.getElementType() == element)
      return value;
    return ConvertOp::create(builder, type.clone(element), value);
  }

  Value round(Value value, FloatType precision) {
    Type element = typeOf(value).getElementType();
    // 16-bit formats are parts of tf32.
    if (isa<FloatTF32Type>(precision))
      return element.isF32()
                 ? ReducePrecisionOp::create(builder, value.getType(), value,
                                             /*exponent_bits=*/8,
                                             /*mantissa_bits=*/10)
                 : value;
    return convert(value, precision);
  }

  /// Each component is what the ones before left, rounded. What is infinite
  /// once rounded leaves nothing.
  SmallVector<Value> components(Value value, FloatType precision,
                                int64_t count) {
    SmallVector<Value> parts;
    Value rest = value;
    for (int64_t i = 0; i < count; ++i) {
      parts.push_back(round(rest, precision));
      if (i + 1 == count)
        break;
      Value part = convert(parts.back(), builder.getF32Type());
      Value left = SubtractOp::create(builder, rest, part);
      Value isFinite = IsFiniteOp::create(builder, part);
      rest = SelectOp::create(builder, isFinite, left, zeros(left));
    }
    return parts;
  }

  /// Small products are NaN where an infinite factor meets a zero; then the
  /// large product says what the result is.
  Value numbersOnly(Value small) {
    Value isNumber =
        CompareOp::create(builder, small, small, ComparisonDirection::EQ);
    return SelectOp::create(builder, isNumber, small, zeros(small));
  }

  Value zeros(Value like) {
    RankedTensorType type = typeOf(like);
    return ConstantOp::create(
        builder, cast<ElementsAttr>(DenseElementsAttr::get(
                     type, builder.getFloatAttr(type.getElementType(), 0.0))));
  }

  /// A plain dot. Equal narrow types stay: libraries may have code for them.
  Value multiply(Value lhs, Value rhs) {
    Type sum = algorithm.sum;
    if (typeOf(lhs).getElementType() != typeOf(rhs).getElementType() ||
        sum.isF64()) {
      lhs = convert(lhs, sum);
      rhs = convert(rhs, sum);
    }
    return DotGeneralOp::create(builder, typeOf(dot.getResult()).clone(sum),
                                lhs, rhs, dot.getDotDimensionNumbersAttr(),
                                dot.getPrecisionConfigAttr(),
                                /*algorithm=*/DotAlgorithmAttr());
  }

  ImplicitLocOpBuilder builder;
  DotGeneralOp dot;
  const DotAlgorithm &algorithm;
};

struct ExpandDotAlgorithms
    : public tenon::importer::impl::ExpandDotAlgorithmsPassBase<
          ExpandDotAlgorithms> {
  void runOnOperation() override {
    SmallVector<DotGeneralOp> dots;
    getOperation().walk([&](DotGeneralOp dot) {
      if (dot.getAlgorithm())
        dots.push_back(dot);
    });
    bool ok = true;
    for (DotGeneralOp dot : dots) {
      std::string whyNot;
      auto algorithm = DotAlgorithm::of(dot, whyNot);
      if (!algorithm) {
        ok = false;
        InFlightDiagnostic error = dot.emitOpError();
        error << "asks for an algorithm that is not supported: " << whyNot;
        error.attachNote()
            << "docs/Forms.md lists the supported ones; without "
               "an algorithm f32 is multiplied and summed as f32";
        continue;
      }
      dot.getResult().replaceAllUsesWith(
          DotExpansion(dot, *algorithm).expand());
      dot.erase();
    }
    if (ok)
      return;
    getOperation()->setAttr(importer::unsupportedAttrName,
                            UnitAttr::get(&getContext()));
    signalPassFailure();
  }
};

} // namespace
