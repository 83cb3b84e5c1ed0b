//===- IndexExpression.h - Indices as sums the emitter can reason about ---===//
//
// The index of a tensor element, while code for it is being written: a constant
// plus integer multiples of atoms. Atoms are loop variables, floor quotients of
// other expressions, and integers read from memory. Knowing the sum and the
// range of every atom lets reshapes cancel instead of dividing, bounds checks
// vanish where they cannot fail, and tells for each memory access whether 16
// neighbouring points touch 16 neighbouring elements.
//
// Worked example. A result of shape [6, 8] is computed in one loop over its 48
// elements, f. Its index is [f / 8, f - 8 (f / 8)] (there is no remainder atom:
// a remainder is written as a difference). An operand of the same shape is read
// at 8 (f / 8) + f - 8 (f / 8) = f, contiguous, and no division is ever
// emitted. An operand broadcast along the rows is read at f - 8 (f / 8), which
// is not an affine function of the lane if vectors start at multiples of 16,
// but is if the second extent is a multiple of 16: then f / 16 is the same in
// all lanes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_INDEXEXPRESSION_H
#define TENON_CODEGEN_LOOPS_INDEXEXPRESSION_H

#include "tenon/Codegen/Loops/LoopLevels.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <utility>
#include <vector>

namespace tenon::codegen {

using AtomId = unsigned;

/// constant + sum of coefficient * atom, terms sorted by atom, no zero
/// coefficients: equal sums are equal objects.
struct IndexExpression {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<AtomId, int64_t>, 3> terms;

  IndexExpression() = default;
  IndexExpression(int64_t constant) : constant(constant) {}

  bool isConstant() const { return terms.empty(); }
  bool operator==(const IndexExpression &other) const = default;
  bool operator<(const IndexExpression &other) const {
    return std::pair(constant, llvm::ArrayRef(terms).vec()) <
           std::pair(other.constant, llvm::ArrayRef(other.terms).vec());
  }
};

using Indices = llvm::SmallVector<IndexExpression, 4>;

IndexExpression operator+(const IndexExpression &a, const IndexExpression &b);
IndexExpression operator-(const IndexExpression &a, const IndexExpression &b);
IndexExpression operator*(const IndexExpression &a, int64_t factor);

/// Inclusive bounds.
struct IndexRange {
  int64_t low;
  int64_t high;
};

/// How an expression changes from lane to lane of a vector.
struct LaneForm {
  enum Kind { uniform, linear, general } kind = uniform;
  /// The difference between neighbouring lanes, for `linear`.
  int64_t step = 0;
  /// For `general`, if not 0: `width` neighbouring lanes have one value, the
  /// next ones one more; a divisor of the number of lanes.
  int64_t width = 0;

  bool isUniform() const { return kind == uniform; }
  bool isContiguous() const { return kind == linear && step == 1; }
  bool isStairs() const { return kind == general && width > 0; }
};

/// Makes and evaluates index expressions for one kernel.
class IndexAlgebra {
public:
  IndexAlgebra(mlir::OpBuilder &builder, mlir::Location loc, LoopLevels &levels)
      : builder(builder), loc(loc), levels(levels) {}

  /// The number of points a vector stands for; 1 while scalars are emitted.
  int64_t lanes = 1;
  /// How many index computations that vary by lane in no simple way, and how
  /// many divisions, were emitted: what a loop shape is judged by.
  unsigned generalVectors = 0;
  unsigned divisions = 0;

  /// A value of type index that is the same for all lanes, `low <= value <=
  /// high`, a multiple of `multiple`, available from `level` on.
  IndexExpression uniform(mlir::Value value, IndexRange range, unsigned level,
                          int64_t multiple = 1);
  /// `base` + lane; the range is that of all lanes that are not masked off.
  IndexExpression laneVariable(mlir::Value base, IndexRange range,
                               unsigned level, int64_t multiple);
  /// One value per lane, a vector of i32 or i64.
  IndexExpression perLane(mlir::Value vector, IndexRange range, unsigned level);
  /// `expression`, which is uniform, clamped to the range.
  IndexExpression clamped(const IndexExpression &expression, IndexRange range);

  IndexExpression floorDiv(const IndexExpression &dividend, int64_t divisor);
  IndexExpression mod(const IndexExpression &dividend, int64_t divisor);

  IndexRange range(const IndexExpression &expression);
  LaneForm laneForm(const IndexExpression &expression) const;
  /// A number of which the value at the first lane is known to be a multiple.
  int64_t knownMultiple(const IndexExpression &expression) const;
  /// The level from which on the value is available.
  unsigned level(const IndexExpression &expression) const;

  /// The value at the first lane, of type index.
  mlir::Value scalar(const IndexExpression &expression);
  /// The value at every lane: a vector of `lanes` integers, i32 if the range
  /// fits and i64 otherwise.
  mlir::Value vector(const IndexExpression &expression);
  /// The same minus the value at the first lane, for a linear form.
  mlir::Value laneOffsets(int64_t step, mlir::Type elementType);

  /// Row-major: sum of index * stride.
  IndexExpression linearize(llvm::ArrayRef<IndexExpression> indices,
                            llvm::ArrayRef<int64_t> shape) const;
  /// The index of the element at the row-major position `position`.
  Indices delinearize(const IndexExpression &position,
                      llvm::ArrayRef<int64_t> shape);

  /// Forgets values computed in levels deeper than the current one.
  void levelPopped();

private:
  struct Atom {
    enum Kind { variable, quotient } kind;
    mlir::Value scalar;
    mlir::Value vector;
    IndexExpression dividend;
    int64_t divisor = 1;
    IndexRange bounds{0, 0};
    int64_t multiple = 1;
    LaneForm lane;
    unsigned level = 0;
  };
  struct Placed {
    mlir::Value value;
    unsigned level;
  };

  IndexExpression add(Atom atom);
  IndexExpression quotient(const IndexExpression &dividend, int64_t divisor);
  mlir::Value atomScalar(AtomId id);
  mlir::Value atomVector(AtomId id, mlir::Type elementType);
  mlir::Value constantIndex(int64_t value);
  mlir::Value constantVector(int64_t value, mlir::Type elementType);
  mlir::Type laneType(const IndexExpression &expression) const;
  IndexRange simpleRange(const IndexExpression &expression) const;
  IndexRange range(const IndexExpression &expression, unsigned depth);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  LoopLevels &levels;
  std::vector<Atom> atoms;
  std::map<std::pair<IndexExpression, int64_t>, AtomId> quotients;
  std::map<std::pair<IndexExpression, std::pair<int64_t, int64_t>>,
           std::pair<IndexExpression, unsigned>>
      clamps;
  std::map<IndexExpression, Placed> scalars;
  std::map<std::pair<IndexExpression, unsigned>, Placed> vectors;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_INDEXEXPRESSION_H
