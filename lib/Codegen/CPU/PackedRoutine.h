//===- PackedRoutine.h - Functions that kernels of products share ---------===//
//
// What products, copies and transpositions of packed matrices are written with:
// functions of pointers and 64-bit integers, of which a module of kernels has
// one each.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_PACKEDROUTINE_H
#define TENON_LIB_CODEGEN_CPU_PACKEDROUTINE_H

#include "PackedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tenon::codegen {

/// The body of such a function.
class RoutineBuilder {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  RoutineBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  template <typename Op, typename... Arguments>
  Op create(Arguments &&...arguments) {
    return Op::create(b, loc, std::forward<Arguments>(arguments)...);
  }
  Value constant(int64_t value) {
    return create<mlir::arith::ConstantOp>(b.getI64IntegerAttr(value));
  }
  Value add(Value x, Value y) { return create<mlir::arith::AddIOp>(x, y); }
  Value multiply(Value x, Value y) { return create<mlir::arith::MulIOp>(x, y); }

  mlir::VectorType vectorType() {
    return mlir::VectorType::get({vectorLanes}, b.getF32Type());
  }
  /// The address of the element that many behind `pointer`, an f32 unless a
  /// type is given.
  Value behind(Value pointer, Value elements, mlir::Type type = {}) {
    return create<mlir::LLVM::GEPOp>(
        pointer.getType(), type ? type : b.getF32Type(), pointer,
        mlir::ArrayRef<mlir::LLVM::GEPArg>{elements});
  }
  Value behind(Value pointer, int64_t elements, mlir::Type type = {}) {
    return elements ? behind(pointer, constant(elements), type) : pointer;
  }
  Value load(Value pointer, mlir::Type type, unsigned alignment = 4) {
    return create<mlir::LLVM::LoadOp>(type, pointer, alignment);
  }
  void store(Value value, Value pointer) {
    create<mlir::LLVM::StoreOp>(value, pointer, /*alignment=*/4);
  }

  using Body = llvm::function_ref<Values(Value, mlir::ValueRange)>;
  mlir::ValueRange forLoop(Value low, Value high, Value step,
                           mlir::ValueRange carried, Body body) {
    auto loop = create<mlir::scf::ForOp>(low, high, step, carried);
    mlir::OpBuilder::InsertionGuard guard(b);
    if (carried.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(loop.getBody());
    Values results = body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!carried.empty())
      create<mlir::scf::YieldOp>(results);
    return loop.getResults();
  }
  void forLoop(Value low, Value high, int64_t step,
               llvm::function_ref<void(Value)> body) {
    forLoop(low, high, constant(step), {},
            [&](Value variable, mlir::ValueRange) {
              body(variable);
              return Values();
            });
  }
  void ifElse(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise) {
    auto choice = create<mlir::scf::IfOp>(condition, /*withElseRegion=*/true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    then();
    b.setInsertionPointToStart(choice.elseBlock());
    otherwise();
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// A function of the kernel's module; `emit` fills it if it is not there yet.
mlir::func::FuncOp packedRoutine(
    KernelBuilder &k, llvm::StringRef name,
    llvm::ArrayRef<mlir::Type> arguments,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange)> emit);

mlir::Type pointerType(KernelBuilder &k);
/// An index as an i64, and where an element of a packed matrix is.
mlir::Value asInteger(KernelBuilder &k, mlir::Value index);
mlir::Value addressOf(KernelBuilder &k, const PackedPlace &place);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_PACKEDROUTINE_H
