//===- AnnotateForBudget.cpp - What planning must know of groups ---------===//
//
// See AnnotateForBudget.h. A part's figures follow from its group, so each is
// made for a moment.
//
//===----------------------------------------------------------------------===//

#include "AnnotateForBudget.h"

#include "tenon/Analysis/GroupParts.h"
#include "tenon/Codegen/CPU/AnnotateScratch.h"
#include "tenon/Cost/GroupCost.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;
using namespace tenon;

static void annotateParts(step::GroupOp group,
                          const driver::KernelScratch &scratch,
                          const target::Target &machine) {
  OpBuilder builder(group->getNextNode());
  SmallVector<Attribute> figures;
  for (const GroupPart &part : partsOf(group)) {
    step::GroupOp alone = createPart(
        builder, group, part,
        [&](unsigned index) { return group->getOperand(index); },
        [&](unsigned index) { return group->getResult(index); });
    auto integer = [&](StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    double seconds = cost::costOf(alone, machine).seconds;
    figures.push_back(builder.getDictionaryAttr(
        {integer("nanoseconds", std::llround(seconds * 1e9)),
         integer("scratch_bytes", scratch(alone))}));
    alone.erase();
  }
  if (!figures.empty())
    group->setAttr(step::partsAttrName, builder.getArrayAttr(figures));
  else
    group->removeAttr(step::partsAttrName);
}

void driver::annotateForBudget(ModuleOp grouped, const KernelScratch &scratch,
                               const target::Target &machine) {
  codegen::annotateScratch(grouped, scratch);
  auto main = grouped.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return;
  cost::annotateTimes(main.getBody(), machine);
  SmallVector<step::GroupOp> groups;
  main.walk([&](step::GroupOp group) { groups.push_back(group); });
  for (step::GroupOp group : groups)
    annotateParts(group, scratch, machine);
}
