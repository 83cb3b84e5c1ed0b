//===- WindowSchedule.cpp - Pooling, its gradient, cumulative sums --------===//
//
// A thread has a vector of neighbouring elements along the last dimension if
// the windows do not move along it, otherwise one element:
//
// - of the results of reduce_window, whose windows it reads;
// - of what a cumulative sum leaves once its dimension is taken away; it walks
//   that dimension, since the order of the sum is one chain;
// - of the source of select_and_scatter where every element is in one window:
//   it writes the whole window;
// - of the result of any other select_and_scatter: it looks at all windows that
//   the element is in, in their order, so no two threads write one element.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/WindowPoints.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 128;

/// The indices that threads have.
struct WindowSpace {
  SmallVector<int64_t> shape;
  int64_t lanes = 1;
  std::optional<WindowSums::Running> running;

  explicit WindowSpace(const KernelSource &source) {
    bool lastIsFree;
    if (auto op = dyn_cast<stablehlo::ReduceWindowOp>(source.root)) {
      shape = llvm::to_vector(shapeOf(op.getResult(0)));
      running = WindowSums::runningDim(op);
      lastIsFree = !shape.empty() && windowsOf(op).back().isTrivial();
      if (running)
        shape.erase(shape.begin() + running->dim);
    } else {
      SelectWindows select(cast<stablehlo::SelectAndScatterOp>(source.root));
      shape =
          llvm::to_vector(select.tile() ? select.sourceShape : select.shape);
      lastIsFree = select.lastIsFree();
    }
    if (!lastIsFree)
      return;
    lanes = longestVector(source, elementCount(shape));
    while (shape.back() % lanes)
      lanes /= 2;
  }

  int64_t threads() const { return elementCount(shape) / lanes; }
};

class WindowKernel : GpuKernelBuilder {
public:
  WindowKernel(const KernelSource &source, func::FuncOp function,
               const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        space(source) {
    algebra.lanes = space.lanes;
    ifBelow(block * threadsPerBlock + thread, space.threads(),
            [&](const IndexExpression &own) {
              emitPlace(algebra.delinearize(
                  vectorAt(own * space.lanes, elementCount(space.shape)),
                  space.shape));
            });
  }

private:
  void emitPlace(const Indices &place) {
    if (auto op = dyn_cast<stablehlo::ReduceWindowOp>(source.root)) {
      WindowSums sums(*this, op);
      if (space.running)
        sums.emitRunning(*space.running, place);
      else
        sums.emitPoint(place);
      return;
    }
    WindowPicks picks(*this, cast<stablehlo::SelectAndScatterOp>(source.root));
    if (picks.tile())
      picks.emitWindow(place);
    else
      picks.emitElement(place);
  }

  const WindowSpace space;
};

} // namespace

bool WindowSchedule::accepts(const KernelSource &source) const {
  // Threads read what others would overwrite.
  return isa_and_nonnull<stablehlo::ReduceWindowOp,
                         stablehlo::SelectAndScatterOp>(source.root) &&
         llvm::all_of(source.inPlace, [](int64_t i) { return i < 0; });
}

LaunchShape WindowSchedule::launchShape(const KernelSource &source) const {
  int64_t threads = std::max<int64_t>(WindowSpace(source).threads(), 1);
  return {.parts = int64_t(llvm::divideCeil(threads, threadsPerBlock)),
          .threads = threadsPerBlock};
}

EmittedLoops WindowSchedule::emit(const KernelSource &source, ModuleOp module,
                                  StringRef name, unsigned) const {
  return emitAs<WindowKernel>(source, module, name);
}

} // namespace tenon::codegen
