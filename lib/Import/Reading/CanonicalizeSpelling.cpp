//===- CanonicalizeSpelling.cpp - One spelling per idea -------------------===//
//
// Rewrites that change how a program is written and never what it computes: the
// movement rewrites of ShapeSpelling, deprecated and dynamic operations in
// their static form, and what an exporter leaves behind.
//
//===----------------------------------------------------------------------===//

#include "Decompositions/EmptyTensors.h"

#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/ShapeSpelling.h"
#include "tenon/Import/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/Sequence.h"

namespace tenon::importer {
#define GEN_PASS_DEF_CANONICALIZESPELLINGPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::stablehlo;

namespace {

struct ConvertToSameType : OpRewritePattern<ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getOperand().getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
};

struct NameCompareType : OpRewritePattern<CompareOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CompareOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getCompareType() && *op.getCompareType() != ComparisonType::NOTYPE)
      return failure();
    Type element = getElementTypeOrSelf(op.getLhs().getType());
    ComparisonType type = ComparisonType::SIGNED;
    if (isa<FloatType, ComplexType>(element))
      type = ComparisonType::FLOAT;
    else if (element.isUnsignedInteger() || element.isInteger(1))
      type = ComparisonType::UNSIGNED;
    rewriter.modifyOpInPlace(op, [&] {
      op.setCompareTypeAttr(ComparisonTypeAttr::get(op.getContext(), type));
    });
    return success();
  }
};

struct GetOfTuple : OpRewritePattern<GetTupleElementOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GetTupleElementOp op,
                                PatternRewriter &rewriter) const override {
    auto tuple = op.getOperand().getDefiningOp<TupleOp>();
    if (!tuple)
      return failure();
    rewriter.replaceOp(op, tuple->getOperand(op.getIndex()));
    return success();
  }
};

/// Floating-point sums of products of integers, as sums of products of what
/// they are converted to.
template <typename Op>
struct ConvertBeforeProducts : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type result = getElementTypeOrSelf(op.getType());
    auto isInteger = [](Value operand) {
      return isa<IntegerType>(getElementTypeOrSelf(operand.getType()));
    };
    if (!isa<FloatType>(result) || !llvm::any_of(op->getOperands(), isInteger))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      for (OpOperand &operand : op->getOpOperands())
        if (isInteger(operand.get()))
          operand.set(
              ConvertOp::create(rewriter, op.getLoc(), operand.get(), result));
    });
    return success();
  }
};

/// The deprecated `broadcast` puts new dimensions in front.
struct LeadingBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    auto added = int64_t(op.getBroadcastSizes().size());
    int64_t rank = cast<RankedTensorType>(op.getType()).getRank();
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(
        op, op.getType(), op.getOperand(),
        llvm::to_vector(llvm::seq<int64_t>(added, rank)));
    return success();
  }
};

/// The deprecated `dot` contracts the last with the first dimension.
struct GeneralDot : OpRewritePattern<DotOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotOp op,
                                PatternRewriter &rewriter) const override {
    int64_t last = cast<RankedTensorType>(op.getLhs().getType()).getRank() - 1;
    auto dims = DotDimensionNumbersAttr::get(op.getContext(), {}, {}, {last},
                                             {int64_t(0)});
    rewriter.replaceOpWithNewOp<DotGeneralOp>(
        op, op.getType(), op.getLhs(), op.getRhs(), dims,
        op.getPrecisionConfigAttr(), DotAlgorithmAttr());
    return success();
  }
};

/// A number that is not complex is its real part.
template <typename Op>
struct PartOfReal : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (op.getOperand().getType() != op.getType())
      return failure();
    if (std::is_same_v<Op, RealOp>) {
      rewriter.replaceOp(op, op.getOperand());
      return success();
    }
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, cast<ElementsAttr>(rewriter.getZeroAttr(op.getType())));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// The dynamic family, where every extent is known
//===----------------------------------------------------------------------===//

/// The integers of a constant vector.
std::optional<SmallVector<int64_t>> constantVector(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                           : DenseIntElementsAttr();
  if (!elements)
    return std::nullopt;
  SmallVector<int64_t> integers;
  for (const APInt &element : elements.getValues<APInt>())
    integers.push_back(element.getSExtValue());
  return integers;
}

bool isStatic(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.hasStaticShape();
}

struct StaticReshape : OpRewritePattern<DynamicReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicReshapeOp op,
                                PatternRewriter &rewriter) const override {
    if (!isStatic(op))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
    return success();
  }
};

struct StaticBroadcast : OpRewritePattern<DynamicBroadcastInDimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicBroadcastInDimOp op,
                                PatternRewriter &rewriter) const override {
    if (!isStatic(op))
      return failure();
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(
        op, op.getType(), op.getOperand(), op.getBroadcastDimensions());
    return success();
  }
};

struct StaticIota : OpRewritePattern<DynamicIotaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicIotaOp op,
                                PatternRewriter &rewriter) const override {
    if (!isStatic(op))
      return failure();
    rewriter.replaceOpWithNewOp<IotaOp>(op, op.getType(),
                                        op.getIotaDimensionAttr());
    return success();
  }
};

struct StaticSlice : OpRewritePattern<RealDynamicSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RealDynamicSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto starts = constantVector(op.getStartIndices());
    auto limits = constantVector(op.getLimitIndices());
    auto strides = constantVector(op.getStrides());
    if (!starts || !limits || !strides)
      return failure();
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), op.getOperand(),
                                         *starts, *limits, *strides);
    return success();
  }
};

struct StaticPad : OpRewritePattern<DynamicPadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicPadOp op,
                                PatternRewriter &rewriter) const override {
    auto low = constantVector(op.getEdgePaddingLow());
    auto high = constantVector(op.getEdgePaddingHigh());
    auto interior = constantVector(op.getInteriorPadding());
    if (!low || !high || !interior)
      return failure();
    rewriter.replaceOpWithNewOp<PadOp>(op, op.getType(), op.getOperand(),
                                       op.getPaddingValue(), *low, *high,
                                       *interior);
    return success();
  }
};

struct StaticConvolution : OpRewritePattern<DynamicConvOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicConvOp op,
                                PatternRewriter &rewriter) const override {
    auto padding = constantVector(op.getPadding());
    if (!padding || !isStatic(op))
      return failure();
    auto shape = cast<RankedTensorType>(op.getPadding().getType()).getShape();
    auto type = RankedTensorType::get(shape, rewriter.getI64Type());
    rewriter.replaceOpWithNewOp<ConvolutionOp>(
        op, op.getType(), op.getLhs(), op.getRhs(), op.getWindowStridesAttr(),
        DenseIntElementsAttr::get(type, *padding), op.getLhsDilationAttr(),
        op.getRhsDilationAttr(), op.getWindowReversalAttr(),
        op.getDimensionNumbersAttr(), op.getFeatureGroupCountAttr(),
        op.getBatchGroupCountAttr(), op.getPrecisionConfigAttr());
    return success();
  }
};

struct StaticGather : OpRewritePattern<DynamicGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicGatherOp op,
                                PatternRewriter &rewriter) const override {
    auto sizes = constantVector(op.getSliceSizes());
    if (!sizes)
      return failure();
    rewriter.replaceOpWithNewOp<GatherOp>(
        op, op.getType(), op.getOperand(), op.getStartIndices(),
        op.getDimensionNumbersAttr(), rewriter.getDenseI64ArrayAttr(*sizes),
        op.getIndicesAreSortedAttr());
    return success();
  }
};

struct KnownDimensionSize : OpRewritePattern<GetDimensionSizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GetDimensionSizeOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getOperand().getType());
    if (!type || type.isDynamicDim(op.getDimension()))
      return failure();
    auto result = cast<RankedTensorType>(op.getType());
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, cast<ElementsAttr>(DenseElementsAttr::get(
                result, rewriter.getI32IntegerAttr(
                            int32_t(type.getDimSize(op.getDimension()))))));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Map
//===----------------------------------------------------------------------===//

/// A function of elements applied to whole tensors: its operations are
/// element-wise, so that they mean the same on the operands' shape.
struct MapOnTensors : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp op,
                                PatternRewriter &rewriter) const override {
    Block &body = op.getComputation().front();
    auto isElementwise = [](Operation &inner) {
      if (!isa<BitcastConvertOp>(inner))
        return inner.hasTrait<OpTrait::Elementwise>() ||
               isa<ConstantOp, SelectOp, ClampOp>(inner);
      Type from = getElementTypeOrSelf(inner.getOperand(0));
      Type to = getElementTypeOrSelf(inner.getResult(0));
      return from == to ||
             (from.isIntOrFloat() && to.isIntOrFloat() &&
              from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth());
    };
    for (Operation &inner : body.without_terminator())
      if (!isElementwise(inner))
        return rewriter.notifyMatchFailure(&inner, "not element-wise");
    auto shape = cast<RankedTensorType>(op.getType()).getShape();
    auto onTensor = [&](Type type) {
      return RankedTensorType::get(shape, getElementTypeOrSelf(type));
    };
    IRMapping mapping;
    mapping.map(body.getArguments(), op.getInputs());
    // A scalar from outside, and a constant, is the same for every element.
    auto spread = [&](Value scalar) {
      if (mapping.contains(scalar))
        return;
      mapping.map(scalar, BroadcastInDimOp::create(rewriter, op.getLoc(),
                                                   onTensor(scalar.getType()),
                                                   scalar, ArrayRef<int64_t>())
                              .getResult());
    };
    for (Operation &inner : body.without_terminator()) {
      if (isa<ConstantOp>(inner)) {
        Value scalar = rewriter.clone(inner)->getResult(0);
        spread(scalar);
        mapping.map(inner.getResult(0), mapping.lookup(scalar));
        continue;
      }
      for (Value operand : inner.getOperands())
        spread(operand);
      Operation *clone = rewriter.clone(inner, mapping);
      for (OpResult result : clone->getResults())
        result.setType(onTensor(result.getType()));
    }
    Value result = body.getTerminator()->getOperand(0);
    spread(result);
    rewriter.replaceOp(op, mapping.lookup(result));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Conditionals
//===----------------------------------------------------------------------===//

/// The same branches by number: 0 if the predicate holds, else 1.
struct IfAsCase : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op,
                                PatternRewriter &rewriter) const override {
    auto index = RankedTensorType::get({}, rewriter.getI32Type());
    Value otherwise = NotOp::create(rewriter, op.getLoc(), op.getPred());
    Value number = ConvertOp::create(rewriter, op.getLoc(), index, otherwise);
    auto replacement =
        CaseOp::create(rewriter, op.getLoc(), op.getResultTypes(), number, 2);
    rewriter.inlineRegionBefore(op.getTrueBranch(),
                                replacement.getBranches()[0],
                                replacement.getBranches()[0].end());
    rewriter.inlineRegionBefore(op.getFalseBranch(),
                                replacement.getBranches()[1],
                                replacement.getBranches()[1].end());
    replacement->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, replacement);
    return success();
  }
};

class CanonicalizeSpelling
    : public tenon::importer::impl::CanonicalizeSpellingPassBase<
          CanonicalizeSpelling> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateShapeSpelling(set);
    populateEmptyTensors(set);
    set.add<ConvertBeforeProducts<ConvolutionOp>,
            ConvertBeforeProducts<DotGeneralOp>, ConvertToSameType,
            NameCompareType, PartOfReal<RealOp>, PartOfReal<ImagOp>, GetOfTuple,
            LeadingBroadcast, GeneralDot, StaticReshape, StaticBroadcast,
            StaticIota, StaticSlice, StaticPad, StaticConvolution, StaticGather,
            KnownDimensionSize, MapOnTensors, IfAsCase>(context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // Operations nobody reads are erased by the driver as well.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), patterns, config)))
      getOperation().emitWarning(
          "spelling was not settled within the limit of rewrites");
    closeElementRegions(getOperation());
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
