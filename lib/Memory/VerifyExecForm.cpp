//===- VerifyExecForm.cpp - The contract of the device program ------------===//
//
// Checks that a module is in exec form (docs/Forms.md): whatever has a place
// lies inside its segment, arguments match their kernels. Codegen and Package
// rely on it, and the text may have been edited.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Format/PinnedMemory.h"
#include "tenon/Support/CheckedArithmetic.h"

namespace tenon::memory {
#define GEN_PASS_DEF_VERIFYEXECFORMPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;

namespace {

/// Bytes of a tensor or memref as it lies in memory; nothing for one that has
/// no fixed place there.
std::optional<int64_t> bytesOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  auto memref = dyn_cast<MemRefType>(type);
  if (!shaped || !shaped.hasStaticShape() || shaped.getNumElements() < 0 ||
      (memref && !memref.getLayout().isIdentity()))
    return std::nullopt;
  int64_t width = storedBytes(
      shaped.cloneWith(ArrayRef<int64_t>{1}, shaped.getElementType()));
  return mulChecked(shaped.getNumElements(), width);
}

/// What an operation names lies inside a segment.
LogicalResult verifyPlace(Operation *op, ModuleOp module, StringRef name,
                          uint64_t offset, Type type) {
  auto segment = module.lookupSymbol<exec::SegmentOp>(name);
  if (!segment)
    return op->emitOpError("names the unknown segment '") << name << "'";
  std::optional<int64_t> bytes = bytesOf(type);
  if (!bytes)
    return op->emitOpError("has type ")
           << type << ", expected a static shape, row by row";
  int64_t start = int64_t(offset), size = int64_t(segment.getBytes());
  if (start < 0 || start % 64 != 0)
    return op->emitOpError("starts at byte ")
           << start << ", expected a multiple of 64";
  if (*bytes > size || start > size - *bytes)
    return op->emitOpError("ends at byte ")
           << start + *bytes << " of a segment of " << size << " bytes";
  return success();
}

/// Whether values of a GPU wait there, in memory of its host.
bool isPinned(exec::SegmentOp segment) {
  return segment.getSpace() == StringRef(format::pinnedSpaceName);
}

LogicalResult verifySegment(exec::SegmentOp segment, ModuleOp module) {
  if (!module.lookupSymbol<exec::MemorySpaceOp>(segment.getSpace()))
    return segment.emitOpError("lies in the unknown memory space '")
           << segment.getSpace() << "'";
  if (!module.lookupSymbol<exec::DeviceClassOp>(segment.getDeviceClass()))
    return segment.emitOpError("is for the unknown device class '")
           << segment.getDeviceClass() << "'";
  if (isPinned(segment) &&
      (segment.getKind() != exec::SegmentKind::temporaries ||
       segment.getDeviceClass() != "cuda"))
    return segment.emitOpError("has other than temporaries of a GPU in memory "
                               "of its host");
  // 2^47 bytes are all a process can address.
  int64_t bytes = int64_t(segment.getBytes());
  if (bytes < 0 || bytes > int64_t(1) << 47)
    return segment.emitOpError("has ")
           << bytes << " bytes, expected 0 to " << (int64_t(1) << 47);
  return success();
}

LogicalResult verifyConstant(exec::ConstantOp constant, ModuleOp module) {
  if (failed(verifyPlace(constant, module, constant.getSegment(),
                         constant.getOffset(), constant.getValue().getType())))
    return failure();
  auto segment = module.lookupSymbol<exec::SegmentOp>(constant.getSegment());
  if (segment.getKind() != exec::SegmentKind::constants)
    return constant.emitOpError("lies in the segment '")
           << constant.getSegment() << "', which is not for constants";
  return success();
}

/// What an instruction works on are slices: nothing else has a place.
LogicalResult verifyOperands(Operation *op) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (!operand.getDefiningOp<exec::SliceOp>())
      return op->emitOpError("takes operand #")
             << index << " from elsewhere, expected the result of an "
             << "'exec.slice'";
  return success();
}

LogicalResult verifyKernelArguments(exec::InvokeOp invoke,
                                    func::FuncOp kernel) {
  auto inPlace =
      kernel->getAttrOfType<DenseI64ArrayAttr>(exec::inPlaceAttrName);
  SmallVector<Type> expected(kernel.getArgumentTypes());
  for (auto [index, type] : llvm::enumerate(kernel.getResultTypes()))
    if (!inPlace || inPlace[index] < 0)
      expected.push_back(type);
    else if (bytesOf(type) != bytesOf(expected[inPlace[index]]))
      return invoke.emitOpError("runs kernel '")
             << invoke.getCallee() << "', whose result #" << index
             << " of type " << type << " overwrites an operand of type "
             << expected[inPlace[index]];
  auto scratchBytes =
      kernel->getAttrOfType<IntegerAttr>(exec::scratchBytesAttrName);
  size_t scratch = scratchBytes ? 1 : 0;
  if (invoke.getSlices().size() != expected.size() + scratch)
    return invoke.emitOpError("passes ")
           << invoke.getSlices().size() << " slices, kernel '"
           << invoke.getCallee() << "' takes " << expected.size() + scratch;
  for (auto [index, type] : llvm::enumerate(expected)) {
    auto given = cast<MemRefType>(invoke.getSlices()[index].getType());
    auto wanted = dyn_cast<RankedTensorType>(type);
    if (!wanted || given.getShape() != wanted.getShape() ||
        given.getElementType() != wanted.getElementType())
      return invoke.emitOpError("passes ")
             << given << " as argument #" << index << " of kernel '"
             << invoke.getCallee() << "', which takes " << type;
  }
  if (!scratchBytes)
    return success();
  std::optional<int64_t> given = bytesOf(invoke.getSlices().back().getType());
  if (given != scratchBytes.getInt())
    return invoke.emitOpError("passes ")
           << invoke.getSlices().back().getType()
           << " as scratch memory of kernel '" << invoke.getCallee()
           << "', which takes " << scratchBytes.getInt() << " bytes";
  return success();
}

/// The operand if there is one, the result, and the workspace if any is needed,
/// which share no byte.
LogicalResult verifyCollectiveArguments(exec::InvokeOp invoke,
                                        exec::CollectiveOp collective) {
  std::string error;
  auto description = exec::collectiveOf(collective.getDescription(), error);
  std::vector<int64_t> expected = libraries::argumentBytes(*description, reducerOf(collective));
  if (invoke.getSlices().size() != expected.size())
    return invoke.emitOpError("passes ")
           << invoke.getSlices().size() << " slices, '" << invoke.getCallee()
           << "' takes " << expected.size();
  for (auto [index, value] : llvm::enumerate(invoke.getSlices())) {
    auto slice = value.getDefiningOp<exec::SliceOp>();
    if (bytesOf(slice.getType()) != expected[index])
      return invoke.emitOpError("passes ")
             << slice.getType() << " as argument #" << index << " of '"
             << invoke.getCallee() << "', which takes " << expected[index]
             << " bytes";
    for (Value other : invoke.getSlices().take_front(index)) {
      auto before = other.getDefiningOp<exec::SliceOp>();
      int64_t first = before.getOffset(), second = slice.getOffset();
      if (before.getSegment() == slice.getSegment() &&
          first < second + expected[index] &&
          second < first + *bytesOf(before.getType()))
        return invoke.emitOpError("passes arguments that share bytes to '")
               << invoke.getCallee() << "'";
    }
  }
  return success();
}

/// Collectives may be in queue 1, copies to the host in queue 2 and copies from
/// there in queue 3. Nothing else touches memory of the host.
LogicalResult verifyQueue(exec::InvokeOp invoke, Operation *callee,
                          ModuleOp module) {
  const auto queue = int64_t(invoke.getQueue());
  auto isOnHost = [&](Value slice) {
    return isPinned(module.lookupSymbol<exec::SegmentOp>(
        slice.getDefiningOp<exec::SliceOp>().getSegment()));
  };
  if (queue < 0 || queue > 3)
    return invoke.emitOpError("is in queue ") << queue << ", expected 0 to 3";
  if (queue == 1 && !isa<exec::CollectiveOp>(callee))
    return invoke.emitOpError("is in queue 1, which is for collectives");
  if (!isa<exec::CopyOp>(callee)) {
    if (queue > 1)
      return invoke.emitOpError("is in queue ")
             << queue << ", which is for copies";
    if (llvm::any_of(invoke.getSlices(), isOnHost))
      return invoke.emitOpError(
          "touches memory of the host, which only copies may");
    return success();
  }
  const bool fromHost = isOnHost(invoke.getSlices()[0]),
             toHost = isOnHost(invoke.getSlices()[1]);
  if (fromHost && toHost)
    return invoke.emitOpError("copies within memory of the host");
  if ((queue == 2 && !toHost) || (queue == 3 && !fromHost))
    return invoke.emitOpError("is in queue ")
           << queue << ", which is for copies " << (queue == 2 ? "to" : "from")
           << " memory of the host";
  return success();
}

LogicalResult verifyInvoke(exec::InvokeOp invoke, ModuleOp module) {
  Operation *callee = module.lookupSymbol(invoke.getCallee());
  if (!isa_and_present<func::FuncOp, exec::LibraryOp, exec::CollectiveOp,
                       exec::CopyOp>(callee))
    return invoke.emitOpError("invokes '")
           << invoke.getCallee()
           << "', which is no kernel, library call, collective or copy of the "
              "module";
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (int64_t(invoke.getParts()) < 1 || int64_t(invoke.getParts()) > most)
    return invoke.emitOpError("has ")
           << int64_t(invoke.getParts()) << " parts, expected at least 1";
  if (isa<exec::CopyOp>(callee) && invoke.getSlices().size() != 2)
    return invoke.emitOpError("passes ")
           << invoke.getSlices().size()
           << " slices, a copy takes where it reads and where it writes";
  if (failed(verifyQueue(invoke, callee, module)))
    return failure();
  if (auto kernel = dyn_cast<func::FuncOp>(callee))
    return verifyKernelArguments(invoke, kernel);
  if (auto collective = dyn_cast<exec::CollectiveOp>(callee))
    return verifyCollectiveArguments(invoke, collective);
  return success();
}

LogicalResult verifyInstruction(Operation *op, ModuleOp module) {
  if (failed(verifyOperands(op)))
    return failure();
  if (auto loop = dyn_cast<exec::WhileOp>(op);
      loop && loop.getTrips().value_or(0) > INT64_MAX)
    return loop.emitOpError("runs its body ")
           << int64_t(*loop.getTrips()) << " times, expected at least 0";
  auto invoke = dyn_cast<exec::InvokeOp>(op);
  return invoke ? verifyInvoke(invoke, module) : success();
}

struct VerifyExecForm
    : public memory::impl::VerifyExecFormPassBase<VerifyExecForm> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.getOps<exec::ProgramOp>().empty()) {
      module.emitError() << "expected a program in exec form; run the stage "
                            "lower first";
      return signalPassFailure();
    }
    WalkResult result = module.walk([&](Operation *op) -> WalkResult {
      if (auto segment = dyn_cast<exec::SegmentOp>(op))
        return verifySegment(segment, module);
      if (auto tensor = dyn_cast<exec::TensorOp>(op))
        return verifyPlace(tensor, module, tensor.getSegment(),
                           tensor.getOffset(), tensor.getType());
      if (auto constant = dyn_cast<exec::ConstantOp>(op))
        return verifyConstant(constant, module);
      if (auto slice = dyn_cast<exec::SliceOp>(op))
        return verifyPlace(slice, module, slice.getSegment(), slice.getOffset(),
                           slice.getType());
      if (isa<exec::InvokeOp, exec::WaitOp, exec::WhileOp, exec::CaseOp>(op))
        return verifyInstruction(op, module);
      if (isa<step::GroupOp>(op)) {
        op->emitOpError("remains in exec form");
        return WalkResult::interrupt();
      }
      if (!op->getParentOfType<exec::ProgramOp>())
        return WalkResult::advance();
      if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
        op->emitOpError("makes a tensor in exec form, which holds none outside "
                        "kernels");
      else
        op->emitOpError("is no instruction of the exec program");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
