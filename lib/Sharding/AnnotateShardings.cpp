//===- AnnotateShardings.cpp - Layouts as annotations of Shardy -----------===//
//
// See AnnotateShardings.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/AnnotateShardings.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

/// The layout without the axes from the first one on that cuts a dimension
/// unevenly.
static Layout evenPartOf(const Layout &layout, ArrayRef<int64_t> shape) {
  Layout even = layout;
  for (auto [parts, extent] : llvm::zip_equal(even.dims, shape)) {
    int64_t count = 1;
    for (unsigned kept = 0; kept < parts.size(); ++kept) {
      count *= parts[kept].size;
      if (extent % count != 0)
        parts.truncate(kept);
    }
  }
  return even;
}

namespace {

class Annotator {
public:
  Annotator(ModuleOp module, const Mesh &mesh)
      : context(module.getContext()), mesh(mesh) {
    context->loadDialect<sdy::SdyDialect>();
    for (auto other : llvm::make_early_inc_range(module.getOps<sdy::MeshOp>()))
      other.erase();
    SmallVector<sdy::MeshAxisAttr> axes;
    for (const Axis &axis : mesh.axes)
      axes.push_back(sdy::MeshAxisAttr::get(context, axis.name, axis.size));
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto op = sdy::MeshOp::create(
        builder, module.getLoc(), "mesh",
        sdy::MeshAttr::get(context, axes, /*device_ids=*/{}));
    SymbolTable symbols(module);
    op->remove();
    symbols.insert(op, module.getBody()->begin());
    name = FlatSymbolRefAttr::get(op.getSymNameAttr());
  }

  sdy::TensorShardingAttr shardingOf(const Layout &layout) const {
    SmallVector<sdy::DimensionShardingAttr> dims;
    for (const AxisParts &parts : layout.dims) {
      SmallVector<sdy::AxisRefAttr> axes;
      for (const AxisPart &part : parts) {
        const Axis &axis = mesh.axes[part.axis];
        auto share =
            part.size == axis.size
                ? sdy::SubAxisInfoAttr()
                : sdy::SubAxisInfoAttr::get(context, part.before, part.size);
        axes.push_back(sdy::AxisRefAttr::get(context, axis.name, share));
      }
      dims.push_back(sdy::DimensionShardingAttr::get(
          context, axes, /*is_closed=*/true, /*priority=*/std::nullopt));
    }
    return sdy::TensorShardingAttr::get(context, name, dims, {}, {},
                                        sdy::ReductionOp::SUM);
  }

  void constrain(Value value, const Layout &layout) const {
    OpBuilder builder(context);
    builder.setInsertionPointAfterValue(value);
    auto op = sdy::ShardingConstraintOp::create(
        builder, value.getLoc(), value.getType(), value, shardingOf(layout));
    value.replaceAllUsesExcept(op.getResult(), op);
  }

private:
  MLIRContext *context;
  const Mesh &mesh;
  FlatSymbolRefAttr name;
};

} // namespace

BoundaryShardings tenon::sharding::annotateShardings(ModuleOp module,
                                                     const Mesh &mesh,
                                                     const LayoutPlan &plan,
                                                     int64_t &constraints) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Annotator annotator(module, mesh);
  AskedLayouts boundary;
  BoundaryShardings shardings;
  for (Value argument : main.getArguments()) {
    Layout even =
        evenPartOf(plan.layouts.values.at(argument), shapeOf(argument));
    shardings.arguments.push_back(annotator.shardingOf(even));
    boundary.arguments.push_back(std::move(even));
  }
  for (auto [type, layout] :
       llvm::zip_equal(main.getResultTypes(), plan.layouts.results)) {
    Layout even = evenPartOf(layout, cast<RankedTensorType>(type).getShape());
    shardings.results.push_back(annotator.shardingOf(even));
    boundary.results.push_back(std::move(even));
  }
  const PropagatedLayouts expected = propagate(main, boundary);
  SmallVector<std::pair<Value, const Layout *>> others;
  main.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : op->getResults()) {
      auto layout = plan.layouts.values.find(value);
      if (layout != plan.layouts.values.end() && !isMadeAnywhere(value) &&
          (isa<step::ShardingConstraintOp>(op) ||
           !(layout->second == expected.values.at(value))))
        others.push_back({value, &layout->second});
    }
    // Regions on elements hold no tensors of the step.
    return op == main ||
                   isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(
                       op)
               ? WalkResult::advance()
               : WalkResult::skip();
  });
  for (auto [value, layout] : others)
    annotator.constrain(value, *layout);
  step::dropShardingConstraints(main);
  constraints = int64_t(others.size());
  return shardings;
}
