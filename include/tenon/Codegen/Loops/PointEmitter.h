//===- PointEmitter.h - The value of a tensor at one index ----------------===//
//
// The heart of the kernel emitter. A kernel's body says what whole tensors are;
// this class writes the code for one element of one of them (or for 16
// neighbouring ones, as a vector): element-wise operations compute from their
// operands' elements at the same index, shape operations ask for their operand
// at another index, and function arguments are loaded. The templates decide
// over which indices loops run, and store what they get.
//
// Values that do not depend on the lane stay scalars. A value is emitted in the
// outermost loop in which everything it depends on is known (LoopLevels.h) and
// once per index there.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_POINTEMITTER_H
#define TENON_CODEGEN_LOOPS_POINTEMITTER_H

#include "tenon/Codegen/Loops/IndexExpression.h"
#include "tenon/Codegen/Loops/PointwiseOperations.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Alignment.h"

#include <functional>

namespace tenon::codegen {

/// A scalar, if the value is the same for all lanes, or a vector.
struct Element {
  mlir::Value value;
  unsigned level = 0;

  bool isVector() const { return llvm::isa<mlir::VectorType>(value.getType()); }
};

/// Row-major memory of a tensor: a memref of rank 1 in storageType().
struct Buffer {
  mlir::Value memref;
  llvm::SmallVector<int64_t> shape;
  mlir::Type elementType;
  /// Whether the kernel writes it, so that loads stay where they are.
  bool isWritten = false;
};

class PointEmitter {
public:
  PointEmitter(mlir::OpBuilder &builder, mlir::Location loc, LoopLevels &levels,
               IndexAlgebra &algebra, const Instructions &instructions)
      : builder(builder), loc(loc), levels(levels), algebra(algebra),
        instructions(instructions) {}

  using Provider = std::function<Element(llvm::ArrayRef<IndexExpression>)>;

  /// What an argument is, or a value that a template has stored.
  void bind(mlir::Value tensor, Buffer buffer) { buffers[tensor] = buffer; }
  /// A value that a template has computed itself.
  void provide(mlir::Value tensor, Provider provider) {
    providers[tensor] = std::move(provider);
  }
  const Buffer &bufferOf(mlir::Value tensor) const {
    return buffers.find(tensor)->second;
  }

  /// The element at an index. Indices outside of the tensor are allowed only in
  /// lanes that are masked off.
  Element at(mlir::Value tensor, llvm::ArrayRef<IndexExpression> indices);

  /// Asks for the memory that the element at an index, which is the same for
  /// all lanes, is loaded from.
  void prefetch(mlir::Value tensor, llvm::ArrayRef<IndexExpression> indices);

  Element load(const Buffer &buffer, const IndexExpression &position);
  /// Stores at a row-major position that is uniform, for a scalar, or linear in
  /// the lane.
  void store(const Buffer &buffer, const IndexExpression &position,
             Element element);

  /// The same element, as a vector if `lanes` is more than 1.
  mlir::Value asVector(Element element);

  /// Applies a region of element-wise operations on 0-dimensional tensors to
  /// values that are all scalars or all vectors. `level` is theirs.
  llvm::SmallVector<mlir::Value> applyRegion(mlir::Region &region,
                                             mlir::ValueRange arguments);

  /// Lanes in which loads and stores happen; none for all. Belongs to `level`.
  mlir::Value mask;
  unsigned maskLevel = 0;

  /// Loads that touch neither one element nor neighbouring ones.
  unsigned gathers = 0;
  /// Conditions 0 <= expression < extent that had to be tested.
  llvm::SmallVector<std::pair<IndexExpression, int64_t>> conditions;

  void levelPopped();

  /// An element that exists only where `conditions` hold.
  struct Guard {
    bool never = false;
    mlir::Value uniform; // i1
    unsigned uniformLevel = 0;
    mlir::Value lanes; // vector of i1
    unsigned lanesLevel = 0;
  };
  /// The condition 0 <= expression < extent.
  void require(Guard &guard, const IndexExpression &expression, int64_t extent);
  /// The condition expression == 0.
  void requireZero(Guard &guard, const IndexExpression &expression);
  /// The operand's element where `guard` holds (its index is made safe there)
  /// and `other()` elsewhere.
  Element guarded(Guard guard, mlir::Value operand, Indices indices,
                  llvm::function_ref<Element()> other);

private:
  /// How an access of several elements there is aligned, in bytes; nothing
  /// where nobody asks.
  llvm::MaybeAlign alignment(const Buffer &buffer,
                             const IndexExpression &position) const;
  void combine(Guard &guard, mlir::Value condition, unsigned level);
  Buffer constantBuffer(mlir::ElementsAttr value);
  Element compute(mlir::Value tensor, const Indices &indices);
  Element pointwise(mlir::Operation *op, const Indices &indices);
  Element constant(mlir::Operation *op, const Indices &indices);
  Element iota(mlir::Operation *op, const Indices &indices);
  Element stochasticRound(mlir::Operation *op, const Indices &indices);
  /// An index as a word, in lanes where it differs between them.
  Element placeOf(const IndexExpression &place);
  Element pad(mlir::Operation *op, const Indices &indices);
  Element concatenate(mlir::Operation *op, const Indices &indices,
                      unsigned first, int64_t offset);
  Element gather(mlir::Operation *op, const Indices &indices);
  Element dynamicSlice(mlir::Operation *op, const Indices &indices);
  Element dynamicUpdateSlice(mlir::Operation *op, const Indices &indices);
  Element unitReduce(mlir::OpResult result, const Indices &indices);
  Element bitcastOfOtherWidth(mlir::Operation *op, const Indices &indices);
  Element choose(mlir::Value condition, unsigned level, Element a, Element b);

public:
  /// An integer element as an index clamped to [0, high].
  IndexExpression clampedIndex(mlir::Value tensor, const Indices &indices,
                               int64_t high);

private:
  struct Known {
    Indices indices;
    mlir::Value mask;
    Element element;
  };

  mlir::OpBuilder &builder;
  mlir::Location loc;
  LoopLevels &levels;
  IndexAlgebra &algebra;
  const Instructions &instructions;
  /// Loads only ask for memory, and what is computed from them is nothing.
  bool isPrefetching = false;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, Provider> providers;
  llvm::DenseMap<mlir::Value, std::vector<Known>> known;
  llvm::DenseMap<mlir::Attribute, Buffer> constants;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, IndexExpression>
      clampedIndices;
};

/// Whether there is code for the element types of a point operation
/// (Analysis/OperationClass.h); reports why not.
mlir::LogicalResult checkPointOperation(mlir::Operation *op);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_POINTEMITTER_H
