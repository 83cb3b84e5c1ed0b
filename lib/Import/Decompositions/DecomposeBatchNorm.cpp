//===- DecomposeBatchNorm.cpp - Batch normalisation as plain operations ---===//
//
// The three batch_norm operations of the language, written out by the
// specification's formulas: statistics are sums over all dimensions but the
// feature's, and everything else is element-wise, which Fusion handles like any
// other normalisation.
//
//===----------------------------------------------------------------------===//

#include "ElementMath.h"

#include "tenon/Import/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"

namespace tenon::importer {
#define GEN_PASS_DEF_DECOMPOSEBATCHNORMPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::stablehlo;

namespace {

/// Formulas on the operand's shape and on one number per feature.
class Normalization {
public:
  Normalization(Operation *op, Value operand, int64_t feature, APFloat epsilon)
      : builder(op->getLoc(), op), whole(builder, typeOf(operand)),
        perFeature(builder, featureType(operand, feature)), operand(operand),
        feature(feature), epsilon(epsilon.convertToDouble()) {}

  /// A value per feature on the operand's shape.
  Value spread(Value value) {
    return BroadcastInDimOp::create(builder, whole.type, value,
                                    ArrayRef<int64_t>{feature});
  }

  /// The sum over every dimension but the feature's.
  Value sum(Value value) {
    SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < whole.type.getRank(); ++dim)
      if (dim != feature)
        dims.push_back(dim);
    auto scalar = RankedTensorType::get({}, whole.type.getElementType());
    Value zero = ElementMath(builder, scalar).constant(0);
    auto reduce = ReduceOp::create(builder, TypeRange{perFeature.type},
                                   ValueRange{value}, ValueRange{zero}, dims);
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&reduce.getBody(), {}, {scalar, scalar},
                                      {builder.getLoc(), builder.getLoc()});
    Value added =
        AddOp::create(builder, body->getArgument(0), body->getArgument(1));
    ReturnOp::create(builder, added);
    return reduce.getResult(0);
  }

  double count() const {
    return double(whole.type.getNumElements()) /
           double(perFeature.type.getNumElements());
  }

  Value mean(Value value) {
    return perFeature.div(sum(value), perFeature.constant(count()));
  }

  Value centered(Value mean) { return whole.sub(operand, spread(mean)); }
  Value deviation(Value variance) {
    return whole.sqrt(whole.add(spread(variance), epsilon));
  }
  /// scale (x - mean) / deviation + offset
  Value normalize(Value scale, Value offset, Value mean, Value variance) {
    Value normal = whole.div(centered(mean), deviation(variance));
    return whole.add(whole.mul(spread(scale), normal), spread(offset));
  }

  static RankedTensorType featureType(Value operand, int64_t feature) {
    RankedTensorType type = typeOf(operand);
    return RankedTensorType::get({type.getDimSize(feature)},
                                 type.getElementType());
  }

  ImplicitLocOpBuilder builder;
  ElementMath whole, perFeature;
  Value operand;
  int64_t feature;
  double epsilon;
};

void decompose(BatchNormTrainingOp op) {
  Normalization n(op, op.getOperand(), int64_t(op.getFeatureIndex()),
                  op.getEpsilon());
  Value mean = n.mean(op.getOperand());
  Value centered = n.centered(mean);
  Value variance = n.mean(n.whole.mul(centered, centered));
  Value output = n.normalize(op.getScale(), op.getOffset(), mean, variance);
  op->replaceAllUsesWith(ValueRange{output, mean, variance});
}

void decompose(BatchNormInferenceOp op) {
  Normalization n(op, op.getOperand(), int64_t(op.getFeatureIndex()),
                  op.getEpsilon());
  op->replaceAllUsesWith(ValueRange{n.normalize(
      op.getScale(), op.getOffset(), op.getMean(), op.getVariance())});
}

/// With n elements per feature, c = x - mean, s = deviation:
///   operand  scale / s / n (n g - sum(g) - c sum(g c) / s^2)
///   scale    sum(g c / s)
///   offset   sum(g)
void decompose(BatchNormGradOp op) {
  Normalization n(op, op.getOperand(), int64_t(op.getFeatureIndex()),
                  op.getEpsilon());
  const ElementMath &m = n.whole;
  Value gradient = op.getGradOutput();
  Value centered = n.centered(op.getMean());
  Value deviation = n.deviation(op.getVariance());
  Value total = n.sum(gradient);
  Value correlation = n.sum(m.mul(gradient, centered));
  Value square = m.add(n.spread(op.getVariance()), n.epsilon);
  Value inner = m.sub(m.sub(m.mul(gradient, n.count()), n.spread(total)),
                      m.div(m.mul(n.spread(correlation), centered), square));
  Value factor =
      m.div(m.div(n.spread(op.getScale()), deviation), m.constant(n.count()));
  Value ofScale = n.sum(m.mul(gradient, m.div(centered, deviation)));
  op->replaceAllUsesWith(ValueRange{m.mul(factor, inner), ofScale, total});
}

class DecomposeBatchNorm
    : public tenon::importer::impl::DecomposeBatchNormPassBase<
          DecomposeBatchNorm> {
  void runOnOperation() override {
    SmallVector<Operation *> operations;
    getOperation().walk([&](Operation *op) {
      if (isa<BatchNormTrainingOp, BatchNormInferenceOp, BatchNormGradOp>(op))
        operations.push_back(op);
    });
    for (Operation *op : operations) {
      TypeSwitch<Operation *>(op)
          .Case<BatchNormTrainingOp, BatchNormInferenceOp, BatchNormGradOp>(
              [](auto normalization) { decompose(normalization); });
      op->erase();
    }
    if (!operations.empty())
      remark::passed(getOperation().getLoc(),
                     remark::RemarkOpts::name("decomposed")
                         .category("import-decompose-batch-norm")
                         .function(getOperation().getSymName()))
          << remark::add("{0} batch normalisations written out",
                         operations.size());
  }
};

} // namespace
