//===- StepSplit.cpp - Where the time of a planned step goes --------------===//
//
// See StepSplit.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/StepSplit.h"

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Cost/ExchangeCost.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"

#include <deque>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;

namespace {

class Walk {
public:
  explicit Walk(const target::Target &machine) : machine(machine) {}

  StepSplit run(Block &block) {
    StepSplit split;
    double now = 0, queueFree = 0;
    struct UnderWay {
      double end, hideable;
      int64_t left; // operations that still run beside it
    };
    std::deque<UnderWay> underWay;
    auto waitFor = [&](const UnderWay &collective) {
      const double wait = std::max(0., collective.end - now);
      now += wait;
      split.exposed += wait;
      split.hidden += std::max(0., collective.hideable - wait);
    };
    for (Operation &op : block.without_terminator()) {
      StepSplit own = of(&op);
      auto beside = op.getAttrOfType<IntegerAttr>(step::besideAttrName);
      auto exchange = exchangeIn(&op);
      if (exchange && beside) {
        queueFree = std::max(now, queueFree) + exchange->seconds;
        underWay.push_back(
            {queueFree, exchange->hideable, beside.getInt() + 1});
        // What the processors do for it, nothing runs beside.
        const double busy = exchange->seconds - exchange->hideable;
        now += busy;
        split.exposed += busy;
      } else {
        if (exchange) {
          const double wait = std::max(0., queueFree - now);
          now += wait;
          split.exposed += wait;
        }
        now += own.seconds();
        split.compute += own.compute;
        split.exposed += own.exposed;
        split.hidden += own.hidden;
      }
      size_t due = 0;
      for (size_t i = 0; i < underWay.size(); ++i)
        if (--underWay[i].left <= 0)
          due = i + 1;
      for (; due > 0; --due) {
        waitFor(underWay.front());
        underWay.pop_front();
      }
    }
    for (const UnderWay &collective : underWay)
      waitFor(collective);
    return split;
  }

private:
  std::optional<Exchange> exchangeIn(Operation *op) const {
    auto group = dyn_cast<step::GroupOp>(op);
    return group && group.getKind() == step::GroupKind::collective
               ? exchangeOf(&group.getBody().front().front(), machine)
               : std::nullopt;
  }

  StepSplit of(Operation *op) {
    StepSplit split;
    if (auto exchange = exchangeIn(op)) {
      split.exposed = exchange->seconds;
    } else if (auto group = dyn_cast<step::GroupOp>(op)) {
      split.compute = costOf(group, machine).seconds;
    } else if (isa<stablehlo::WhileOp>(op)) {
      const auto trips = double(tripCount(op).value_or(1));
      for (Region &region : op->getRegions()) {
        StepSplit inside = run(region.front());
        split.compute += trips * inside.compute;
        split.exposed += trips * inside.exposed;
        split.hidden += trips * inside.hidden;
      }
    } else if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) {
      for (Region &region : op->getRegions())
        if (StepSplit inside = run(region.front());
            inside.seconds() >= split.seconds())
          split = inside;
    }
    return split;
  }

  const target::Target &machine;
};

} // namespace

StepSplit cost::splitStep(func::FuncOp main, const target::Target &machine) {
  target::Target ofRank = target::ofRank(machine, meshSizes(main));
  return Walk(ofRank).run(main.getBody().front());
}
