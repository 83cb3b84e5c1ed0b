//===- GroupReport.cpp - What each group of a plan asks for ---------------===//
//
// See GroupReport.h.
//
//===----------------------------------------------------------------------===//

#include "GroupReport.h"

#include "tenon/Analysis/KernelDescription.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

using namespace mlir;
using namespace tenon;

/// How often an operation runs in a step; a loop of unknown length counts once.
static int64_t runsOf(Operation *op) {
  int64_t runs = 1;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (isa<stablehlo::WhileOp>(parent))
      runs *= tripCount(parent).value_or(1);
  return runs;
}

/// The operation that decides what a group is: a product, attention, a scatter;
/// empty where there are many alike.
static std::string rootOf(step::GroupOp group) {
  Operation *root = KernelDescription(group.getBody().front()).root();
  return root ? root->getName().stripDialect().str() : std::string();
}

llvm::json::Array driver::reportGroups(func::FuncOp planned,
                                       const target::Target &machine) {
  llvm::json::Array groups;
  planned.walk([&](step::GroupOp group) {
    const cost::Cost cost = cost::costOf(group, machine);
    groups.push_back(
        llvm::json::Object{{"kind", step::stringifyGroupKind(group.getKind())},
                           {"root", rootOf(group)},
                           {"runs", runsOf(group)},
                           {"flops", cost.flops},
                           {"operations", cost.operations},
                           {"bytes", cost.bytes},
                           {"predicted_seconds", cost.seconds}});
  });
  return groups;
}
