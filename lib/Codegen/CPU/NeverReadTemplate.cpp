//===- NeverReadTemplate.cpp - What nothing reads is not stored -----------===//
//
// A stack starts from a constant of which every element is written before it is
// read (step.filled). Its kernel is there for the plan, which gives the stack
// its place when the kernel runs; it stores nothing.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

#include "tenon/Dialect/Exec/OutlineKernel.h"

using namespace mlir;

namespace tenon::codegen {

extern const Template neverReadTemplate;
const Template neverReadTemplate = {
    .accepts =
        [](const KernelSource &source) {
          return source.body->getParentOp()->hasAttr(exec::neverReadAttrName);
        },
    .demand = [](const KernelSource &) { return Demand(); },
    .emit = [](KernelBuilder &, unsigned) {}};

} // namespace tenon::codegen
