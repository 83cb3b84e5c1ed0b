//===- JointKernel.cpp - One launch for several runs of kernels -----------===//
//
// See JointKernel.h.
//
//===----------------------------------------------------------------------===//

#include "JointKernel.h"

#include "GpuKernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

using namespace mlir;

namespace tenon::codegen {

namespace {

/// All banks.
constexpr int64_t alignmentOfShared = 128;

class JointKernel {
public:
  JointKernel(ArrayRef<func::FuncOp> runs, ModuleOp module, StringRef name)
      : builder(OpBuilder::atBlockEnd(module.getBody())),
        loc(func::FuncOp(runs.front()).getLoc()) {
    SmallVector<Type> types;
    for (func::FuncOp run : runs)
      llvm::append_range(types, run.getArgumentTypes());
    function = func::FuncOp::create(builder, loc, name,
                                    builder.getFunctionType(types, {}));
    Block *body = function.addEntryBlock();
    unsigned first = 0;
    for (func::FuncOp run : runs) {
      const unsigned count = run.getNumArguments();
      for (unsigned i = 0; i < count; ++i)
        if (Attribute readOnly =
                run.getArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName()))
          function.setArgAttr(
              first + i, LLVM::LLVMDialect::getReadonlyAttrName(), readOnly);
      operandsOf[run].push_back(body->getArguments().slice(first, count));
      first += count;
    }
    builder.setInsertionPointToEnd(body);
    findSharedMemory(module);
  }

  func::FuncOp emit() {
    int64_t blocks = 0;
    for (auto &[run, operands] : operandsOf)
      threads = std::max(threads, launchOf(run)[1]);
    for (auto &[run, operands] : operandsOf)
      blocks += blocksOf(run) * int64_t(operands.size());
    function->setAttr(launchAttribute,
                      builder.getDenseI64ArrayAttr({blocks, threads, 0}));
    Value block = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
    emitFrom(0, block);
    func::ReturnOp::create(builder, loc);
    useOneSharedMemory();
    return function;
  }

private:
  using Operands = SmallVector<Value>;

  static ArrayRef<int64_t> launchOf(func::FuncOp run) {
    return run->getAttrOfType<DenseI64ArrayAttr>(launchAttribute).asArrayRef();
  }
  /// How many of a kernel's blocks one block does, and how many that makes.
  int64_t foldOf(func::FuncOp run) const { return threads / launchOf(run)[1]; }
  int64_t blocksOf(func::FuncOp run) const {
    return llvm::divideCeil(launchOf(run)[0], foldOf(run));
  }
  Value integer(int64_t number) {
    return arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(int32_t(number)));
  }
  Value isBelow(Value number, int64_t limit) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                 number, integer(limit));
  }

  /// Where in a block's shared memory each piece of a kernel's begins. A block
  /// runs one kernel, so that of all of them begins at the same place.
  void findSharedMemory(ModuleOp module);
  /// Lets what was cloned take its pieces from there.
  void useOneSharedMemory();

  /// The runs of the kernels from number `first` on, whose blocks count from 0.
  void emitFrom(size_t first, Value block);
  void emitRuns(func::FuncOp kernel, ArrayRef<ValueRange> runs, Value block);
  /// One of the kernel's blocks in each part of a block.
  void emitFolded(func::FuncOp kernel, IRMapping &values, Value block);
  void cloneBody(func::FuncOp kernel, IRMapping &values, Value block,
                 Value thread);
  /// Those of run number `run`, which is one of `runs`, the first of which has
  /// the number `begin`.
  Operands choose(ArrayRef<ValueRange> runs, int64_t begin, Value run);

  OpBuilder builder;
  Location loc;
  func::FuncOp function;
  int64_t threads = 1;
  /// Per kernel, what each of its runs is given.
  llvm::MapVector<func::FuncOp, SmallVector<ValueRange>> operandsOf;
  int64_t sharedBytes = 0;
  llvm::StringMap<int64_t> placeInShared; // by symbol
};

/// The piece of shared memory that an operation takes the address of; nothing
/// for other operations.
std::optional<StringRef> sharedMemoryOf(Operation *op) {
  constexpr auto shared = int64_t(NVVM::NVVMMemorySpace::Shared);
  if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
    auto space = dyn_cast_or_null<IntegerAttr>(get.getType().getMemorySpace());
    if (space && space.getInt() == shared)
      return get.getName();
  }
  if (auto get = dyn_cast<LLVM::AddressOfOp>(op))
    if (cast<LLVM::LLVMPointerType>(get.getType()).getAddressSpace() == shared)
      return get.getGlobalName();
  return std::nullopt;
}

int64_t bytesOfShared(ModuleOp module, StringRef symbol) {
  Operation *global = module.lookupSymbol(symbol);
  if (auto buffer = dyn_cast<memref::GlobalOp>(global))
    return buffer.getType().getNumElements() *
           llvm::divideCeil(buffer.getType().getElementTypeBitWidth(), 8);
  // Of bytes (SharedTiles.cpp).
  return cast<LLVM::LLVMArrayType>(cast<LLVM::GlobalOp>(global).getType())
      .getNumElements();
}

void JointKernel::findSharedMemory(ModuleOp module) {
  for (auto &[kernel, runs] : operandsOf) {
    int64_t bytes = 0;
    func::FuncOp(kernel).walk([&](Operation *op) {
      std::optional<StringRef> symbol = sharedMemoryOf(op);
      if (!symbol || !placeInShared.try_emplace(*symbol, bytes).second)
        return;
      bytes += int64_t(
          llvm::alignTo(bytesOfShared(module, *symbol), alignmentOfShared));
    });
    sharedBytes = std::max(sharedBytes, bytes);
  }
}

void JointKernel::useOneSharedMemory() {
  if (sharedBytes == 0)
    return;
  Type byte = builder.getI8Type();
  auto type = MemRefType::get(
      {sharedBytes}, byte, MemRefLayoutAttrInterface(),
      builder.getI64IntegerAttr(int64_t(NVVM::NVVMMemorySpace::Shared)));
  const std::string name = (function.getName() + ".shared").str();
  builder.setInsertionPoint(function);
  memref::GlobalOp::create(builder, loc, name, builder.getStringAttr("private"),
                           type, builder.getUnitAttr(), /*constant=*/false,
                           builder.getI64IntegerAttr(alignmentOfShared));
  builder.setInsertionPointToStart(&function.front());
  Value all = memref::GetGlobalOp::create(builder, loc, type, name);
  SmallVector<Operation *> replaced;
  function.walk([&](Operation *op) {
    if (std::optional<StringRef> symbol = sharedMemoryOf(op);
        symbol && placeInShared.contains(*symbol))
      replaced.push_back(op);
  });
  for (Operation *op : replaced) {
    builder.setInsertionPoint(op);
    Value place = arith::ConstantOp::create(
        builder, loc,
        builder.getIndexAttr(placeInShared.at(*sharedMemoryOf(op))));
    Value piece;
    if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
      piece = memref::ViewOp::create(builder, loc, get.getType(), all, place,
                                     ValueRange());
    } else {
      Value begin =
          memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, all);
      Value address = arith::IndexCastOp::create(
          builder, loc, builder.getI64Type(),
          arith::AddIOp::create(builder, loc, begin, place).getResult());
      piece = LLVM::IntToPtrOp::create(builder, loc, op->getResult(0).getType(),
                                       address);
    }
    op->getResult(0).replaceAllUsesWith(piece);
    op->erase();
  }
}

void JointKernel::emitFrom(size_t first, Value block) {
  auto &[kernel, runs] = operandsOf.begin()[first];
  if (first + 1 == operandsOf.size())
    return emitRuns(kernel, runs, block);
  const int64_t blocks = blocksOf(kernel) * int64_t(runs.size());
  auto branch =
      scf::IfOp::create(builder, loc, isBelow(block, blocks), /*else=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitRuns(kernel, runs, block);
  builder.setInsertionPointToStart(branch.elseBlock());
  emitFrom(first + 1,
           arith::SubIOp::create(builder, loc, block, integer(blocks)));
}

JointKernel::Operands JointKernel::choose(ArrayRef<ValueRange> runs,
                                          int64_t begin, Value run) {
  if (runs.size() == 1)
    return llvm::to_vector_of<Value>(runs.front());
  const size_t half = runs.size() / 2;
  auto branch =
      scf::IfOp::create(builder, loc, runs.front().getTypes(),
                        isBelow(run, begin + int64_t(half)), /*else=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, choose(runs.take_front(half), begin, run));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(
      builder, loc, choose(runs.drop_front(half), begin + int64_t(half), run));
  return llvm::to_vector_of<Value>(branch.getResults());
}

void JointKernel::emitRuns(func::FuncOp kernel, ArrayRef<ValueRange> runs,
                           Value block) {
  const int64_t blocks = blocksOf(kernel);
  Value run = arith::DivUIOp::create(builder, loc, block, integer(blocks));
  IRMapping values;
  values.map(kernel.getArguments(), choose(runs, 0, run));
  Value number = runs.size() == 1 ? block
                                  : arith::RemUIOp::create(builder, loc, block,
                                                           integer(blocks));
  if (foldOf(kernel) > 1)
    return emitFolded(kernel, values, number);
  cloneBody(kernel, values, number, {});
}

void JointKernel::emitFolded(func::FuncOp kernel, IRMapping &values,
                             Value block) {
  const int64_t own = launchOf(kernel)[1], blocks = launchOf(kernel)[0];
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  Value first =
      arith::MulIOp::create(builder, loc, block, integer(foldOf(kernel)));
  Value part = arith::DivUIOp::create(builder, loc, thread, integer(own));
  Value number = arith::AddIOp::create(builder, loc, first, part);
  thread = arith::RemUIOp::create(builder, loc, thread, integer(own));
  auto branch =
      scf::IfOp::create(builder, loc, isBelow(number, blocks), /*else=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  cloneBody(kernel, values, number, thread);
}

void JointKernel::cloneBody(func::FuncOp kernel, IRMapping &values, Value block,
                            Value thread) {
  for (Operation &op : kernel.front().without_terminator())
    if (auto id = dyn_cast<NVVM::BlockIdXOp>(op))
      values.map(id.getResult(), block);
    else if (auto id = dyn_cast<NVVM::ThreadIdXOp>(op); id && thread)
      values.map(id.getResult(), thread);
    else
      builder.clone(op, values);
}

} // namespace

func::FuncOp emitJoint(ArrayRef<func::FuncOp> runs, ModuleOp module,
                       StringRef name) {
  return JointKernel(runs, module, name).emit();
}

} // namespace tenon::codegen
