//===- LayoutReport.cpp - What is said of layouts and their price ---------===//
//
// See LayoutReport.h.
//
//===----------------------------------------------------------------------===//

#include "LayoutReport.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

static std::string microseconds(double seconds) {
  return llvm::formatv("{0:f2} us", seconds * 1e6);
}

static double gapOf(const solver::ShardingSolution &solution) {
  return solution.bound > 0
             ? double(solution.cost - solution.bound) / double(solution.bound)
             : 0;
}

static double secondsOf(int64_t cost, const sharding::LayoutChoice &choice) {
  return double(cost) / choice.costsPerSecond;
}

std::string driver::proofText(const sharding::LayoutChoice &choice,
                              const sharding::StepPrice &price) {
  const solver::ShardingSolution &solution = choice.solution;
  return "predicted " + microseconds(price.seconds()) + " (compute " +
         microseconds(price.compute) + ", communication " +
         microseconds(price.communication) + "), chosen at " +
         microseconds(secondsOf(solution.cost, choice)) + ", no choice below " +
         microseconds(secondsOf(solution.bound, choice)) + ", gap " +
         llvm::formatv("{0:f2} %", gapOf(solution) * 100).str();
}

void driver::reportPrice(const sharding::StepPrice &price,
                         llvm::json::Object &details) {
  details["compute_seconds"] = price.compute;
  details["communication_seconds"] = price.communication;
  details["received_bytes"] = price.received;
  llvm::json::Array exchanges;
  for (auto &[collective, count] : price.collectives)
    exchanges.push_back(
        llvm::json::Object{{"kind", sharding::nameOf(collective.kind)},
                           {"axes", collective.axes},
                           {"received_bytes", collective.received},
                           {"count", count}});
  details["exchanges"] = std::move(exchanges);
}

void driver::reportChoice(const sharding::LayoutChoice &choice,
                          func::FuncOp main, const sharding::Mesh &mesh,
                          llvm::json::Object &details) {
  const solver::ShardingSolution &solution = choice.solution;
  details["choice"] =
      llvm::json::Object{{"seconds", secondsOf(solution.cost, choice)},
                         {"bound_seconds", secondsOf(solution.bound, choice)},
                         {"gap", gapOf(solution)},
                         {"peak_bytes", solution.peak},
                         {"within_limit", choice.isWithinLimit},
                         {"decisions", int64_t(choice.problem.nodes.size())}};
  llvm::json::Array tensors;
  for (auto [at, argument] : llvm::enumerate(main.getArguments())) {
    const sharding::ArgumentReason &reason = choice.reasons[at];
    auto name = main.getArgAttrOfType<StringAttr>(at, step::nameAttrName);
    llvm::json::Object line{
        {"argument", int64_t(at)},
        {"name", name ? name.str() : "arg" + std::to_string(at)},
        {"layout",
         main.getArgAttrOfType<StringAttr>(at, step::layoutAttrName).str()},
        {"bytes",
         elementCount(shapeOf(argument)) * sharding::elementBytesOf(argument)},
        {"asked", reason.isAsked},
        {"moving_seconds", reason.moving}};
    if (reason.nextBest) {
      line["next_best"] = reason.nextBest->first.text(mesh);
      line["next_best_seconds_more"] = reason.nextBest->second;
    }
    tensors.push_back(std::move(line));
  }
  details["tensors"] = std::move(tensors);
}
