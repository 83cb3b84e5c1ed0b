//===- KernelNest.cpp - The loops of a kernel and its memory --------------===//
//
// See KernelNest.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/KernelNest.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/ReduceTree.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tenon::codegen {

int64_t bytesOf(Type elementType) {
  return storageType(elementType).getIntOrFloatBitWidth() / 8;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Memrefs of rank 1: the emitter computes positions itself.
static SmallVector<Type> memoryOf(const KernelSource &source,
                                  int64_t scratchBytes) {
  SmallVector<Type> types;
  auto add = [&](Type tensor) {
    auto type = cast<RankedTensorType>(tensor);
    types.push_back(
        MemRefType::get({std::max<int64_t>(type.getNumElements(), 1)},
                        storageType(type.getElementType())));
  };
  for (Type type : source.body->getArgumentTypes())
    add(type);
  for (auto [result, operand] : llvm::zip(source.results(), source.inPlace))
    if (operand < 0)
      add(result.getType());
  Builder builder(source.loc.getContext());
  if (scratchBytes)
    types.push_back(MemRefType::get({scratchBytes}, builder.getI8Type()));
  return types;
}

func::FuncOp createKernelFunction(ModuleOp module, StringRef name,
                                  const KernelSource &source,
                                  int64_t scratchBytes, TypeRange further) {
  SmallVector<Type> types = memoryOf(source, scratchBytes);
  llvm::append_range(types, further);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(builder, source.loc, name,
                                       builder.getFunctionType(types, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  func::ReturnOp::create(builder, source.loc);
  return function;
}

void markKernelFunction(func::FuncOp function, StringRef symbol) {
  Builder builder(function.getContext());
  function.setPrivate();
  function->setAttr(kernelSymbolAttribute, builder.getStringAttr(symbol));
  for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i) {
    auto type = dyn_cast<MemRefType>(function.getArgumentTypes()[i]);
    if (!type)
      continue;
    assert(type.hasStaticShape() && type.getLayout().isIdentity() &&
           "a kernel argument has a static shape and the identity layout");
    assert(!type.getElementType().isInteger(1) && "pass booleans as i8");
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(kernelArgumentAlignment));
  }
}

//===----------------------------------------------------------------------===//
// The nest
//===----------------------------------------------------------------------===//

KernelNest::KernelNest(const KernelSource &source, func::FuncOp function,
                       const Instructions &instructions)
    : LoopNest(&function.front(), source.loc, instructions), source(source),
      function(function) {
  auto arguments = function.getArguments();
  ArrayRef<BlockArgument> tensors = source.body->getArguments();
  auto bufferOf = [&](Value tensor, Value memref) {
    Buffer buffer;
    buffer.memref = memref;
    buffer.shape = llvm::to_vector(shapeOf(tensor));
    buffer.elementType = elementOf(tensor);
    return buffer;
  };
  SmallVector<Buffer> operands;
  for (auto [tensor, memref] : llvm::zip(tensors, arguments))
    operands.push_back(bufferOf(tensor, memref));
  behindResults = operands.size();
  for (auto [index, tensor] : llvm::enumerate(source.results())) {
    int64_t operand = source.inPlace[index];
    Buffer buffer = bufferOf(tensor, operand < 0 ? arguments[behindResults++]
                                                 : operands[operand].memref);
    buffer.isWritten = true;
    if (operand >= 0)
      operands[operand].isWritten = true;
    results.push_back(buffer);
  }
  for (auto [tensor, buffer] : llvm::zip(tensors, operands))
    points.bind(tensor, buffer);
}

Buffer KernelNest::scratchBuffer(Value offset, ArrayRef<int64_t> shape,
                                 Type elementType) {
  Buffer buffer;
  auto type = MemRefType::get({std::max<int64_t>(elementCount(shape), 1)},
                              storageType(elementType));
  buffer.memref = create<memref::ViewOp>(
      type, function.getArgument(behindResults), offset, ValueRange());
  buffer.shape = llvm::to_vector(shape);
  buffer.elementType = elementType;
  buffer.isWritten = true;
  return buffer;
}

bool KernelNest::isWritten(unsigned argument) {
  return llvm::any_of(results, [&](const Buffer &result) {
    return result.memref == function.getArgument(argument);
  });
}

Value KernelNest::resultValue(unsigned i) const {
  return source.kernel.computedFor(i);
}

void KernelNest::storeResult(unsigned i, ArrayRef<IndexExpression> indices,
                             Element element) {
  if (auto update = source.kernel.joinedUpdate(i)) {
    ArrayRef<int64_t> shape = results[i].shape;
    Indices place;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      place.push_back(
          indices[dim] +
          points.clampedIndex(update.getStartIndices()[dim], {},
                              shape[dim] - shapeOf(update.getUpdate())[dim]));
    return points.store(results[i], algebra.linearize(place, shape), element);
  }
  points.store(results[i], algebra.linearize(indices, results[i].shape),
               element);
}

Indices KernelNest::placeInResult(Value value,
                                  ArrayRef<IndexExpression> indices) {
  Indices place(indices);
  while (!llvm::is_contained(source.results(), value)) {
    Operation *mover = *value.user_begin();
    Value whole = mover->getResult(0);
    if (auto joined = dyn_cast<stablehlo::ConcatenateOp>(mover)) {
      const auto dim = size_t(joined.getDimension());
      for (Value part : joined.getInputs()) {
        if (part == value)
          break;
        place[dim] = place[dim] + shapeOf(part)[dim];
      }
    } else {
      place = algebra.delinearize(algebra.linearize(place, shapeOf(value)),
                                  shapeOf(whole));
    }
    value = whole;
  }
  return place;
}

void KernelNest::storePart(Value value, ArrayRef<IndexExpression> indices,
                           Element element) {
  storeResult(source.indexOfResult(value), placeInResult(value, indices),
              element);
}

void KernelNest::emitPoints(ArrayRef<Indices> places) {
  // What is updated may have other dimensions of extent 1.
  auto indicesOf = [&](unsigned i, const Indices &indices) {
    if (!source.kernel.joinedUpdate(i))
      return indices;
    Indices essential;
    for (auto [index, extent] : llvm::zip(indices, source.kernel.points()))
      if (extent != 1)
        essential.push_back(index);
    return withUnitDimensions(shapeOf(resultValue(i)), essential);
  };
  SmallVector<Element> elements;
  for (const Indices &indices : places)
    for (unsigned i = 0; i < results.size(); ++i)
      elements.push_back(points.at(resultValue(i), indicesOf(i, indices)));
  const Element *next = elements.begin();
  for (const Indices &indices : places)
    for (unsigned i = 0; i < results.size(); ++i)
      storeResult(i, indicesOf(i, indices), *next++);
}

} // namespace tenon::codegen
