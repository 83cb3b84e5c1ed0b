//===- Propagate.cpp - Layouts for all values of a step -------------------===//
//
// See Propagate.h. Layouts only grow, by parts behind those that a dimension
// has, so sweeps over the operations end.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/Propagate.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/Rules.h"

#include <set>

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

bool tenon::sharding::isMadeAnywhere(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<stablehlo::ConstantOp, stablehlo::IotaOp>(op))
    return true;
  auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op);
  return broadcast && elementCount(shapeOf(broadcast.getOperand())) == 1;
}

bool AskedLayout::allows(const Layout &other) const {
  for (size_t dim = 0; dim < layout.dims.size(); ++dim) {
    ArrayRef<AxisPart> own = other.dims[dim], given = layout.dims[dim];
    if (own.size() < given.size() || own.take_front(given.size()) != given)
      return false;
    ArrayRef<AxisPart> more = own.drop_front(given.size());
    if (!more.empty() && !isOpen(dim))
      return false;
    for (const AxisPart &part : more)
      if (llvm::any_of(replicated,
                       [&](const AxisPart &no) { return no.overlaps(part); }))
        return false;
  }
  return true;
}

namespace {

class Propagation {
public:
  Propagation(func::FuncOp main, const AskedLayouts &asked)
      : main(main), asked(asked), end(main.getBody().front().getTerminator()) {}

  PropagatedLayouts run() {
    collect();
    for (unsigned at = 0; at < main.getNumArguments(); ++at)
      if (asked.arguments[at])
        own[main.getArgument(at)] = &*asked.arguments[at];
    for (const auto &[value, wanted] : asked.constraints)
      own[value] = &wanted;
    for (int64_t priority : priorities())
      for (bool batchesOnly : {true, false}) {
        seed(priority, batchesOnly);
        for (bool everything : {false, true})
          while (sweep(everything))
            ;
      }
    finishResults();
    return std::move(layouts);
  }

private:
  /// All that are given, and the first one.
  std::set<int64_t> priorities() {
    std::set<int64_t> found{0};
    auto add = [&](const AskedLayout &wanted) {
      found.insert(wanted.priorities.begin(), wanted.priorities.end());
    };
    for (auto &[value, wanted] : own)
      add(*wanted);
    for (const auto &wanted : asked.results)
      if (wanted)
        add(*wanted);
    return found;
  }

  /// The dimensions that have been read by now.
  static Layout readBy(int64_t priority, const AskedLayout &wanted) {
    Layout layout = wanted.layout;
    for (auto [dim, own] : llvm::enumerate(wanted.priorities))
      if (own > priority)
        layout.dims[dim].clear();
    return layout;
  }

  void seed(int64_t priority, bool batchesOnly) {
    for (unsigned at = 0; at < main.getNumArguments(); ++at)
      if (asked.arguments[at] && (!batchesOnly || isBatch(at)))
        force(main.getArgument(at), readBy(priority, *asked.arguments[at]));
    for (const auto &[value, wanted] : asked.constraints)
      force(value, readBy(priority, wanted));
    if (batchesOnly)
      return;
    for (auto [value, wanted] :
         llvm::zip_equal(end->getOperands(), asked.results))
      if (wanted)
        offer(value, readBy(priority, *wanted));
  }

  /// What is asked for, or more of it where dimensions are open.
  void force(Value value, const Layout &layout) {
    Layout &has = layouts.values[value];
    Layout next = layout;
    for (size_t dim = 0; dim < layout.dims.size(); ++dim) {
      ArrayRef<AxisPart> given = layout.dims[dim], there = has.dims[dim];
      if (own.lookup(value)->isOpen(dim) && there.size() > given.size() &&
          there.take_front(given.size()) == given &&
          llvm::none_of(there, [&](const AxisPart &part) {
            Layout others = layout;
            others.dims[dim].clear();
            return others.uses(part);
          }))
        next.dims[dim] = has.dims[dim];
    }
    has = std::move(next);
  }

  bool isBatch(unsigned argument) {
    auto role =
        main.getArgAttrOfType<step::RoleAttr>(argument, step::roleAttrName);
    return role && role.getValue() == step::Role::batch;
  }

  /// Operations with their factors, and values that are one.
  void collect() {
    main.walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Value result : op->getResults())
        addValue(result);
      if (isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op)) {
        for (Region &region : op->getRegions())
          for (BlockArgument argument : region.getArguments())
            addValue(argument);
        tieControl(op);
        return WalkResult::advance();
      }
      if (op == main)
        for (BlockArgument argument : main.getArguments())
          addValue(argument);
      else if (!op->hasTrait<OpTrait::IsTerminator>())
        operations.push_back({op, factorsOf(op)});
      // Regions on elements hold no tensors of the step.
      return op == main ? WalkResult::advance() : WalkResult::skip();
    });
    for (unsigned at = 0; at < main.getNumArguments(); ++at)
      if (auto successor =
              main.getArgAttrOfType<IntegerAttr>(at, step::successorAttrName))
        ties.push_back(
            {main.getArgument(at), end->getOperand(successor.getInt())});
    for (auto [first, later] : step::laterParts(main))
      ties.push_back({main.getArgument(first), main.getArgument(later)});
    for (ArrayRef<Value> group : asked.groups)
      ties.push_back(SmallVector<Value>(group));
  }

  void addValue(Value value) {
    layouts.values.try_emplace(value,
                               Layout::replicated(shapeOf(value).size()));
  }

  void tieControl(Operation *op) {
    for (unsigned at = 0; at < op->getNumResults(); ++at) {
      SmallVector<Value> tied{op->getResult(at)};
      if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
        tied.push_back(loop.getOperand()[at]);
        tied.push_back(loop.getCond().getArgument(at));
        tied.push_back(loop.getBody().getArgument(at));
        tied.push_back(loop.getBody().front().getTerminator()->getOperand(at));
      } else {
        for (Region &region : op->getRegions())
          tied.push_back(region.front().getTerminator()->getOperand(at));
      }
      ties.push_back(std::move(tied));
    }
  }

  bool offer(Value value, const Layout &layout) {
    if (isMadeAnywhere(value))
      return false;
    const AskedLayout *wanted = own.lookup(value);
    Layout &has = layouts.values[value];
    ArrayRef<int64_t> shape = shapeOf(value);
    bool changed = false;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t count = countOf(has.dims[dim]);
      if (countOf(layout.dims[dim]) <= count ||
          countOf(layout.dims[dim]) > shape[dim])
        continue;
      auto [first, more] = cutAt(layout.dims[dim], count);
      if (first != has.dims[dim] ||
          llvm::any_of(more, [&](auto &part) { return has.uses(part); }))
        continue;
      Layout next = has;
      next.dims[dim] = layout.dims[dim];
      if (wanted && !wanted->allows(next))
        continue;
      has = std::move(next);
      changed = true;
    }
    return changed;
  }

  bool sweep(bool everything) {
    bool changed = false;
    auto visitTies = [&] {
      for (ArrayRef<Value> tied : ties)
        for (Value from : tied)
          for (Value to : tied)
            if (from != to && !isMadeAnywhere(from))
              changed |= offer(to, layouts.values[from]);
    };
    visitTies();
    for (auto &[op, rule] : operations)
      changed |= visit(op, rule, everything);
    visitTies();
    for (auto &[op, rule] : llvm::reverse(operations))
      changed |= visit(op, rule, everything);
    return changed;
  }

  bool visit(Operation *op, const Factors &rule, bool everything) {
    StructureKind kind = structureOf(op);
    if (!everything && kind != pointwise && kind != transposes &&
        kind != reshapes && kind != flows)
      return false;
    auto barrier = dyn_cast<step::ShardingConstraintOp>(op);
    const bool goesForward = !barrier || barrier.passesForward(),
               goesBackward = !barrier || barrier.passesBackward();
    FactorAxes axes(rule.factors.size());
    auto read = [&](Value value, const TensorFactors &tensor) {
      if (!isMadeAnywhere(value))
        adopt(rule, tensor, layouts.values[value], shapeOf(value), axes);
    };
    auto results = llvm::zip_equal(op->getResults(), rule.results);
    auto operands = llvm::zip_equal(op->getOperands(), rule.operands);
    if (goesBackward)
      for (auto [value, tensor] : results)
        read(value, tensor);
    if (goesForward)
      for (auto [value, tensor] : operands)
        read(value, tensor);
    restrict(rule, axes);
    bool changed = false;
    if (goesForward)
      for (auto [value, tensor] : results)
        changed |= offer(value, layoutOf(rule, tensor, axes, false));
    if (goesBackward)
      for (auto [value, tensor] : operands)
        changed |= offer(value, layoutOf(rule, tensor, axes, false));
    return changed;
  }

  void finishResults() {
    for (auto [at, value] : llvm::enumerate(end->getOperands()))
      layouts.results.push_back(asked.results[at] ? asked.results[at]->layout
                                : isMadeAnywhere(value)
                                    ? Layout::replicated(shapeOf(value).size())
                                    : layouts.values[value]);
    // State is replaced in the layout in which it came.
    for (unsigned at = 0; at < main.getNumArguments(); ++at)
      if (auto successor =
              main.getArgAttrOfType<IntegerAttr>(at, step::successorAttrName)) {
        size_t result = successor.getInt();
        if (asked.results[result] && !asked.arguments[at])
          layouts.values[main.getArgument(at)] = asked.results[result]->layout;
        layouts.results[result] = layouts.values[main.getArgument(at)];
      }
  }

  func::FuncOp main;
  const AskedLayouts &asked;
  Operation *end;
  std::vector<std::pair<Operation *, Factors>> operations;
  std::vector<SmallVector<Value>> ties;
  llvm::DenseMap<Value, const AskedLayout *> own; // of values, what is asked
  PropagatedLayouts layouts;
};

} // namespace

PropagatedLayouts tenon::sharding::propagate(func::FuncOp main,
                                             const AskedLayouts &asked) {
  return Propagation(main, asked).run();
}
