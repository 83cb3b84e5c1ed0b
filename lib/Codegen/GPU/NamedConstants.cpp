//===- NamedConstants.cpp - Names for numbers of a step in texts ----------===//
//
// See NamedConstants.h.
//
//===----------------------------------------------------------------------===//

#include "NamedConstants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tenon::codegen {

/// In front of a name's number.
static constexpr llvm::StringLiteral namePrefix = "number_";

/// The bits of the f32 that a constant is, or repeats.
static std::optional<uint32_t> bitsOf(arith::ConstantOp constant) {
  auto number = dyn_cast<FloatAttr>(constant.getValue());
  if (auto vector = dyn_cast<DenseFPElementsAttr>(constant.getValue());
      vector && vector.isSplat())
    number = vector.getSplatValue<FloatAttr>();
  if (!number || !number.getType().isF32())
    return std::nullopt;
  return uint32_t(number.getValue().bitcastToAPInt().getZExtValue());
}

/// Fills a register from a name.
static Value moveNamed(OpBuilder &builder, Location loc, size_t name) {
  std::string move = "mov.b32 $0, " + namePrefix.str() + std::to_string(name);
  return LLVM::InlineAsmOp::create(
             builder, loc, TypeRange(builder.getF32Type()), ValueRange(),
             move + ";", "=f", /*has_side_effects=*/false,
             /*is_align_stack=*/false, LLVM::TailCallKind::None,
             /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr)
      .getResult(0);
}

std::vector<uint32_t> nameConstants(ModuleOp loops, ArrayRef<uint32_t> bits) {
  llvm::SetVector<uint32_t> named;
  for (auto function : loops.getOps<func::FuncOp>()) {
    SmallVector<std::pair<arith::ConstantOp, size_t>> constants;
    function.walk([&](arith::ConstantOp constant) {
      auto number = bitsOf(constant);
      if (!number || !llvm::is_contained(bits, *number))
        return;
      named.insert(*number);
      constants.emplace_back(constant,
                             llvm::find(named, *number) - named.begin());
    });
    llvm::DenseMap<size_t, Value> moved; // by name
    for (auto [constant, name] : constants) {
      Value &value = moved[name];
      if (!value) {
        OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
        value = moveNamed(builder, constant.getLoc(), name);
      }
      Value replacement = value;
      if (auto vector = dyn_cast<VectorType>(constant.getType())) {
        OpBuilder builder(constant);
        replacement = vector::BroadcastOp::create(builder, constant.getLoc(),
                                                  vector, value);
      }
      constant.getResult().replaceAllUsesWith(replacement);
      constant.erase();
    }
  }
  return {named.begin(), named.end()};
}

std::string numberConstants(StringRef ptx, ArrayRef<uint32_t> bits) {
  constexpr llvm::StringLiteral begin = "\t// begin inline asm\n\tmov.b32 ",
                                end = ";\n\t// end inline asm\n";
  std::string text;
  llvm::raw_string_ostream out(text);
  for (size_t at; (at = ptx.find(begin)) != StringRef::npos;) {
    out << ptx.take_front(at);
    auto [move, rest] = ptx.drop_front(at + begin.size()).split(end);
    auto [target, name] = move.split(", ");
    size_t number = bits.size();
    if (name.consume_front(namePrefix))
      (void)name.getAsInteger(10, number);
    assert(number < bits.size() && "what fills a register has another form");
    out << "\tmov.b32 \t" << target << ", 0f"
        << llvm::format_hex_no_prefix(bits[number], 8, /*Upper=*/true) << ";\n";
    ptx = rest;
  }
  out << ptx;
  return text;
}

} // namespace tenon::codegen
