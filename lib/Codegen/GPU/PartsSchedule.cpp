//===- PartsSchedule.cpp - The parts of a kernel as threads ---------------===//
//
// Every kernel that has no schedule of its own here is computed by the vector
// templates (VectorSchedules.h): a thread is one of their parts. The order of
// every sum is the templates', so the bits are. Neighbouring threads touch
// bytes far from each other, and a vector of 16 points is 16 times the
// instructions of one, so this is slow; what it is for is that every step
// compiles.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

/// A warp to a block: few parts shall still be spread over the processors.
static constexpr int64_t threadsPerBlock = 32;
/// Fills the GPUs that there are.
static constexpr int64_t mostThreads = 1 << 16;

/// Matrices in scratch memory have room behind their rows, from which templates
/// read numbers that they do not use. What was never written must not be read
/// on a GPU that checks it, so a thread clears its own scratch memory first.
static void clearScratch(OpBuilder &builder, func::FuncOp function,
                         const KernelSource &source, const LaunchShape &launch,
                         Value part, int64_t parts) {
  Location loc = source.loc;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  constexpr int64_t bytesAtOnce = 16;
  const int64_t bytesPerPart = launch.scratchBytes / parts;
  Value low = arith::MulIOp::create(builder, loc, part, constant(bytesPerPart));
  Value high = arith::AddIOp::create(builder, loc, low, constant(bytesPerPart));
  high =
      arith::MinUIOp::create(builder, loc, high, constant(launch.scratchBytes));
  auto type = VectorType::get({bytesAtOnce}, builder.getI8Type());
  Value zeros =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Value scratch = function.getArguments().back();
  scf::ForOp::create(builder, loc, low, high, constant(bytesAtOnce),
                     ValueRange(),
                     [&](OpBuilder &b, Location loc, Value at, ValueRange) {
                       vector::StoreOp::create(b, loc, zeros, scratch, at,
                                               /*nontemporal=*/false,
                                               llvm::Align(bytesAtOnce));
                       scf::YieldOp::create(b, loc);
                     });
}

PartsSchedule::PartsSchedule(const GpuTarget &target)
    : instructions(target, vectorLanes), vectors(instructions, mostThreads) {}

bool PartsSchedule::accepts(const KernelSource &source) const {
  return scheduleOf(source, vectors) != nullptr;
}

LogicalResult PartsSchedule::check(const KernelSource &source) const {
  return scheduleOf(source, vectors)->check(source);
}

LaunchShape PartsSchedule::launchShape(const KernelSource &source) const {
  LaunchShape shape = launchShapeOf(source, vectors);
  return {.parts = int64_t(llvm::divideCeil(shape.parts, threadsPerBlock)),
          .threads = threadsPerBlock,
          .scratchBytes = shape.scratchBytes};
}

unsigned PartsSchedule::variants(const KernelSource &source) const {
  return scheduleOf(source, vectors)->variants(source);
}

EmittedLoops PartsSchedule::emit(const KernelSource &source, ModuleOp module,
                                 StringRef name, unsigned variant) const {
  EmittedLoops loops =
      scheduleOf(source, vectors)->emit(source, module, name, variant);
  func::FuncOp function = loops.function;
  LaunchShape launch = launchShape(source);

  // Threads beyond the last part that has work find none.
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  Location loc = source.loc;
  auto number = [&](auto id) -> Value {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        id.getResult());
  };
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Type i32 = builder.getI32Type();
  Value block = number(NVVM::BlockIdXOp::create(builder, loc, i32));
  Value thread = number(NVVM::ThreadIdXOp::create(builder, loc, i32));
  Value part = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, block, constant(launch.threads)),
      thread);
  unsigned count = function.getNumArguments();
  function.getArgument(count - 2).replaceAllUsesWith(part);
  function.getArgument(count - 1).replaceAllUsesWith(
      constant(launch.parts * launch.threads));
  llvm::BitVector numbers(count);
  numbers.set(count - 2, count);
  if (failed(function.eraseArguments(numbers)))
    llvm_unreachable("the part and the number of parts have no uses left");
  if (launch.scratchBytes)
    clearScratch(builder, function, source, launch, part,
                 launchShapeOf(source, vectors).parts);
  describeLaunch(function, source, launch);
  function->setAttr(inPartsAttribute, builder.getUnitAttr());
  return loops;
}

} // namespace tenon::codegen
