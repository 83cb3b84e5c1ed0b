//===- JointLaunches.cpp - Which kernels are launched together ------------===//
//
// See JointLaunches.h.
//
//===----------------------------------------------------------------------===//

#include "JointLaunches.h"

#include "GpuKernelBuilder.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Codegen/GPU/GpuSchedules.h"
#include "tenon/Codegen/Loops/DistinctKernels.h"
#include "tenon/Target/GraphNodes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tenon::codegen {

/// Fewer blocks than GPUs have multiprocessors: what such a kernel takes does
/// not depend on how its warps are dealt out to them.
static constexpr int64_t fewBlocks = 128;

/// Each block of a launch has the shared memory of the kernel that has most.
/// With so much of it for a thread a multiprocessor still has room for 3 to 7
/// blocks of 256 threads, about as many as there are registers for.
static constexpr int64_t mostSharedBytesPerThread = 128;

JointLaunches::JointLaunches(
    ArrayRef<func::FuncOp> distinct,
    ArrayRef<std::pair<std::string, std::string>> symbols,
    const GpuTarget &target) {
  GpuSchedules schedules(target);
  llvm::StringMap<unsigned> bySymbol;
  for (func::FuncOp function : distinct) {
    bySymbol[symbolOfKernel(kernels.size())] = kernels.size();
    Kernel &kernel = kernels.emplace_back();
    KernelSource source(function);
    const Schedule *schedule = scheduleOf(source, schedules);
    if (!schedule)
      continue;
    const LaunchShape launch = schedule->launchShape(source);
    StringRef name = schedules.nameOf(schedule);
    kernel.sharedBytes = launch.sharedBytes;
    kernel.mayJoin =
        (name == "element-wise" || name == "rows" || name == "columns") &&
        launch.scratchBytes == 0;
    kernel.threads = launch.threads;
    kernel.mayWiden = launch.threadsAreApart && launch.parts < fewBlocks;
    // Its operands, then the results that overwrite none of them.
    kernel.writes.assign(function.getNumArguments(), false);
    auto inPlace =
        function->getAttrOfType<DenseI64ArrayAttr>(exec::inPlaceAttrName);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (inPlace && inPlace[i] >= 0)
        kernel.writes[inPlace[i]] = true;
      else
        kernel.writes.push_back(true);
  }
  for (auto &[function, symbol] : symbols)
    numberOf[function] = bySymbol.lookup(symbol);
}

std::optional<JointLaunches::Invocation>
JointLaunches::describe(Operation &op) const {
  auto invoke = dyn_cast<exec::InvokeOp>(op);
  auto number = invoke ? numberOf.find(invoke.getCallee()) : numberOf.end();
  if (number == numberOf.end() || !kernels[number->second].mayJoin)
    return std::nullopt;
  Invocation described{invoke, number->second, {}};
  for (auto [slice, isWritten] :
       llvm::zip_equal(invoke.getSlices(), kernels[number->second].writes)) {
    auto place = slice.getDefiningOp<exec::SliceOp>();
    auto type = cast<MemRefType>(slice.getType());
    const auto begin = int64_t(place.getOffset());
    const int64_t bytes = storedBytes(
        RankedTensorType::get(type.getShape(), type.getElementType()));
    described.touched.push_back(
        {place.getSegment(), begin, begin + bytes, isWritten});
  }
  return described;
}

bool JointLaunches::fit(const Kernel &a, const Kernel &b) {
  const Kernel &narrow = a.threads < b.threads ? a : b,
               &wide = a.threads < b.threads ? b : a;
  return narrow.threads == wide.threads ||
         (narrow.mayWiden && wide.threads % narrow.threads == 0);
}

bool JointLaunches::fits(const Invocation &next) const {
  const Kernel &kernel = kernels[next.kernel];
  size_t addresses = next.touched.size();
  int64_t threads = kernel.threads, shared = kernel.sharedBytes;
  llvm::SmallDenseSet<unsigned> distinct = {next.kernel};
  for (const Invocation &each : open) {
    addresses += each.touched.size();
    const Kernel &other = kernels[each.kernel];
    if (!fit(other, kernel))
      return false;
    threads = std::max(threads, other.threads);
    shared = std::max(shared, other.sharedBytes);
    distinct.insert(each.kernel);
    for (const Touched &a : each.touched)
      for (const Touched &b : next.touched)
        if ((a.isWritten || b.isWritten) && a.segment == b.segment &&
            a.begin < b.end && b.begin < a.end)
          return false;
  }
  return addresses <= target::mostJointAddresses &&
         (distinct.size() == 1 || shared <= mostSharedBytesPerThread * threads);
}

void JointLaunches::finish() {
  if (open.size() > 1) {
    std::vector<unsigned> numbers;
    JointLaunch launch;
    for (const Invocation &each : open) {
      numbers.push_back(each.kernel);
      launch.invocations.push_back(each.op);
    }
    auto [entry, isNew] = known.try_emplace(numbers, sequences.size());
    if (isNew)
      sequences.emplace_back(numbers.begin(), numbers.end());
    launch.symbol = symbolOfJoint(entry->second);
    launches.push_back(std::move(launch));
  }
  open.clear();
}

void JointLaunches::collect(Block &block) {
  for (Operation &op : block) {
    if (isa<exec::SliceOp>(op))
      continue;
    std::optional<Invocation> next = describe(op);
    if (!next || !fits(*next))
      finish();
    if (next)
      open.push_back(std::move(*next));
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        collect(inner);
  }
  finish();
}

void JointLaunches::collect(ModuleOp module) {
  for (auto program : module.getOps<exec::ProgramOp>())
    collect(program.getBody().front());
}

} // namespace tenon::codegen
