//===- ReportCuts.cpp - Where a step for GPUs leaves its graphs -----------===//
//
// See ReportCuts.h.
//
//===----------------------------------------------------------------------===//

#include "ReportCuts.h"

#include "RemarkLog.h"

#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/GpuCode.h"
#include "tenon/Target/GraphNodes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

namespace {

/// Walks a program as the runtime does when it captures it.
class Cuts {
public:
  Cuts(llvm::json::Array &found, const SymbolTable &symbols)
      : found(found), symbols(symbols) {}

  /// The nodes of a block that is one graph; nothing if it is cut.
  std::optional<int64_t> nodesOf(Region &region);

private:
  std::optional<int64_t> nodesOf(exec::WhileOp loop);
  void cut(Operation *op, const std::string &why);

  llvm::json::Array &found;
  const SymbolTable &symbols;
  target::GraphNodes size;
};

} // namespace

void Cuts::cut(Operation *op, const std::string &why) {
  found.push_back(
      llvm::json::Object{{"place", placeOf(op->getLoc())}, {"why", why}});
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("Cut").category("codegen-cut-graphs"))
      << remark::add("{0}", why);
}

std::optional<int64_t> Cuts::nodesOf(exec::WhileOp loop) {
  if (!loop.getTrips()) {
    cut(loop, "the host reads the loop's predicate in every round: how often "
              "it runs is not known when it is compiled");
    nodesOf(loop.getCondition());
    nodesOf(loop.getBody());
    return std::nullopt;
  }
  auto trips = int64_t(*loop.getTrips());
  auto inBody = nodesOf(loop.getBody());
  if (!inBody) {
    cut(loop, llvm::formatv("the host starts each of the loop's {0} rounds: "
                            "its body is cut itself",
                            trips)
                  .str());
    return std::nullopt;
  }
  if (!size.repeats(*inBody, trips)) {
    cut(loop,
        llvm::formatv("the host starts each of the loop's {0} rounds: with {1} "
                      "nodes for each of them the step would have more than "
                      "{2} nodes",
                      trips, *inBody, target::GraphNodes::most)
            .str());
    return std::nullopt;
  }
  remark::passed(
      loop.getLoc(),
      remark::RemarkOpts::name("Repeated").category("codegen-cut-graphs"))
      << remark::add("the loop's {0} rounds of {1} nodes are part of a graph",
                     trips, *inBody);
  return trips * *inBody;
}

std::optional<int64_t> Cuts::nodesOf(Region &region) {
  std::optional<int64_t> nodes = 0;
  auto append = [&](std::optional<int64_t> more) {
    nodes = nodes && more ? std::optional(*nodes + *more) : std::nullopt;
  };
  int64_t launched = 0; // invocations that a launch before them does
  for (Operation &op : region.front()) {
    if (auto invoke = dyn_cast<exec::InvokeOp>(op)) {
      if (launched > 0) {
        --launched;
        continue;
      }
      if (auto joint = op.getAttrOfType<DictionaryAttr>(exec::jointAttrName))
        launched = joint.getAs<IntegerAttr>("invocations").getInt() - 1;
      const int64_t launches = exec::launchesOf(invoke, symbols);
      for (int64_t i = 0; i < launches; ++i)
        size.add();
      append(launches);
    } else if (auto loop = dyn_cast<exec::WhileOp>(op)) {
      append(nodesOf(loop));
    } else if (isa<exec::CaseOp>(op)) {
      cut(&op, "the host reads which branch of the conditional runs");
      for (Region &branch : op.getRegions())
        nodesOf(branch);
      append(std::nullopt);
    }
  }
  return nodes;
}

llvm::json::Array driver::reportCuts(ModuleOp module) {
  llvm::json::Array found;
  const SymbolTable symbols(module);
  for (auto program : module.getOps<exec::ProgramOp>())
    Cuts(found, symbols).nodesOf(program.getBody());
  return found;
}
