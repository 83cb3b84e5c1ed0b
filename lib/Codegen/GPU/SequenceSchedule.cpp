//===- SequenceSchedule.cpp - Kernels of several launches -----------------===//
//
// See GpuSchedule.h. A function for each launch, which names the next one.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

using namespace mlir;

namespace tenon::codegen {

EmittedLoops SequenceSchedule::emit(const KernelSource &source, ModuleOp module,
                                    StringRef name, unsigned) const {
  EmittedLoops loops;
  func::FuncOp last;
  std::string nameOfNext = name.str();
  for (const GpuLaunch &launch : launches(source)) {
    func::FuncOp function = createKernelFunction(module, nameOfNext, source,
                                                 launch.shape.scratchBytes, {});
    launch.emit(source, function, launch.shape, instructions);
    if (last)
      last->setAttr(followedByAttribute,
                    FlatSymbolRefAttr::get(module.getContext(), nameOfNext));
    else
      loops.function = function;
    last = function;
    nameOfNext += ".then";
  }
  return loops;
}

} // namespace tenon::codegen
