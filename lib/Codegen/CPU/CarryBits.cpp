//===- CarryBits.cpp - Scalars of bf16 are moved as their bits ------------===//
//
// See CarryBits.h. Each operation that moves a scalar moves an i16 between two
// casts of bits. LLVM takes away the casts that meet; what is left of them lies
// next to what computes the number, which has rounded it already.
//
//===----------------------------------------------------------------------===//

#include "CarryBits.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

class BitsCarrier {
public:
  explicit BitsCarrier(LLVM::LLVMFuncOp function)
      : function(function), b(function.getContext()), bits(b.getI16Type()) {}

  void run() {
    for (Block &block : llvm::drop_begin(function.getBody()))
      for (BlockArgument argument : block.getArguments())
        if (argument.getType().isBF16())
          giveBits(argument);
    function.walk([&](Operation *op) {
      if (isa<LLVM::LoadOp>(op) && op->getResult(0).getType().isBF16()) {
        giveBits(op->getResult(0));
      } else if (isa<LLVM::SelectOp>(op) &&
                 op->getResult(0).getType().isBF16()) {
        readBits(op);
        giveBits(op->getResult(0));
      } else if (isa<LLVM::StoreOp, BranchOpInterface>(op)) {
        readBits(op);
      } else if (auto widening = dyn_cast<LLVM::FPExtOp>(op)) {
        if (widening.getArg().getType().isBF16() && widening.getType().isF32())
          shift(widening);
      }
    });
  }

private:
  /// Makes an i16 of a value, which its readers see as a bf16.
  void giveBits(Value value) {
    b.setInsertionPointAfterValue(value);
    value.setType(bits);
    auto number =
        LLVM::BitcastOp::create(b, value.getLoc(), b.getBF16Type(), value);
    value.replaceAllUsesExcept(number, number);
  }

  Value bitsOf(Location loc, Value number) {
    return LLVM::BitcastOp::create(b, loc, bits, number);
  }

  /// Has an operation read an i16 for each bf16.
  void readBits(Operation *op) {
    b.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get().getType().isBF16())
        operand.set(bitsOf(op->getLoc(), operand.get()));
  }

  void shift(LLVM::FPExtOp op) {
    b.setInsertionPoint(op);
    Location loc = op.getLoc();
    Type word = b.getI32Type();
    Value low = LLVM::ZExtOp::create(b, loc, word, bitsOf(loc, op.getArg()));
    Value count =
        LLVM::ConstantOp::create(b, loc, word, b.getI32IntegerAttr(16));
    Value high = LLVM::ShlOp::create(b, loc, low, count);
    op.getResult().replaceAllUsesWith(
        LLVM::BitcastOp::create(b, loc, op.getType(), high));
    op.erase();
  }

  LLVM::LLVMFuncOp function;
  OpBuilder b;
  Type bits;
};

} // namespace

void carryBf16AsBits(LLVM::LLVMFuncOp function) { BitsCarrier(function).run(); }

} // namespace tenon::codegen
