//===- AnnotateScratch.cpp - Scratch memory of groups ---------------------===//
//
// See AnnotateScratch.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/AnnotateScratch.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Codegen/CPU/CpuSchedules.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Libraries/Library.h"

using namespace mlir;
using namespace tenon;

namespace {

int64_t libraryScratch(step::GroupOp group, target::Isa isa) {
  std::string error;
  auto description = exec::fromAttribute(
      group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName), error);
  if (!description)
    return 0;
  return libraries::workspaceBytes(*description, isa);
}

int64_t collectiveScratch(step::GroupOp group) {
  std::string error;
  Operation *op = &group.getBody().front().front();
  auto description = describeCollective(op, error);
  return description ? libraries::workspaceBytes(*description, reducerOf(op))
                     : 0;
}

} // namespace

int64_t codegen::scratchBytesOf(step::GroupOp group,
                                const FeatureSet &features) {
  if (group.getKind() == step::GroupKind::collective)
    return collectiveScratch(group);
  return group.getKind() == step::GroupKind::library
             ? libraryScratch(group, features.isa)
             : launchShapeOf(KernelSource(group), CpuSchedules(features))
                   .scratchBytes;
}

void codegen::annotateScratch(
    ModuleOp module, llvm::function_ref<int64_t(step::GroupOp)> bytesOf) {
  module.walk([&](step::GroupOp group) {
    int64_t bytes = bytesOf(group);
    if (bytes > 0)
      group->setAttr(step::scratchBytesAttrName,
                     Builder(group.getContext()).getI64IntegerAttr(bytes));
    else
      group->removeAttr(step::scratchBytesAttrName);
  });
}
