//===- IndexExpression.cpp - Indices as sums the emitter can reason about -===//
//
// The algebra (sums, floor division, ranges) and the code for evaluating an
// expression at the first lane or at all lanes.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/IndexExpression.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace tenon::codegen {

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

static IndexExpression combine(const IndexExpression &a,
                               const IndexExpression &b, int64_t factor) {
  IndexExpression sum(a.constant + factor * b.constant);
  auto left = a.terms.begin(), right = b.terms.begin();
  while (left != a.terms.end() || right != b.terms.end()) {
    bool takeLeft = right == b.terms.end() ||
                    (left != a.terms.end() && left->first <= right->first);
    bool takeRight = left == a.terms.end() ||
                     (right != b.terms.end() && right->first <= left->first);
    AtomId atom = takeLeft ? left->first : right->first;
    int64_t coefficient = (takeLeft ? left->second : 0) +
                          (takeRight ? factor * right->second : 0);
    if (coefficient)
      sum.terms.emplace_back(atom, coefficient);
    left += takeLeft;
    right += takeRight;
  }
  return sum;
}

IndexExpression operator+(const IndexExpression &a, const IndexExpression &b) {
  return combine(a, b, 1);
}
IndexExpression operator-(const IndexExpression &a, const IndexExpression &b) {
  return combine(a, b, -1);
}
IndexExpression operator*(const IndexExpression &a, int64_t factor) {
  return factor ? combine({}, a, factor) : IndexExpression();
}

static int64_t floorQuotient(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

IndexExpression IndexAlgebra::add(Atom atom) {
  atoms.push_back(std::move(atom));
  IndexExpression expression;
  expression.terms.emplace_back(atoms.size() - 1, 1);
  return expression;
}

IndexExpression IndexAlgebra::uniform(Value value, IndexRange range,
                                      unsigned level, int64_t multiple) {
  if (range.low == range.high)
    return range.low;
  Atom atom;
  atom.kind = Atom::variable;
  atom.scalar = value;
  atom.bounds = range;
  atom.level = level;
  atom.multiple = multiple;
  return add(atom);
}

IndexExpression IndexAlgebra::laneVariable(Value base, IndexRange range,
                                           unsigned level, int64_t multiple) {
  Atom atom;
  atom.kind = Atom::variable;
  atom.scalar = base;
  atom.bounds = range;
  atom.level = level;
  atom.multiple = multiple;
  if (lanes > 1)
    atom.lane = {LaneForm::linear, 1};
  return add(atom);
}

IndexExpression IndexAlgebra::perLane(Value vector, IndexRange range,
                                      unsigned level) {
  Atom atom;
  atom.kind = Atom::variable;
  atom.vector = vector;
  atom.bounds = range;
  atom.level = level;
  atom.lane = {LaneForm::general, 0};
  return add(atom);
}

IndexExpression IndexAlgebra::clamped(const IndexExpression &expression,
                                      IndexRange limits) {
  IndexRange known = range(expression);
  if (known.low >= limits.low && known.high <= limits.high)
    return expression;
  auto key = std::pair(expression, std::pair(limits.low, limits.high));
  auto found = clamps.find(key);
  if (found != clamps.end())
    return found->second.first;
  unsigned place = level(expression);
  Value value = scalar(expression);
  if (known.low < limits.low) {
    Value low = constantIndex(limits.low);
    value = levels.createAt<arith::MaxSIOp>(place, loc, value, low);
  }
  if (known.high > limits.high) {
    Value high = constantIndex(limits.high);
    value = levels.createAt<arith::MinSIOp>(place, loc, value, high);
  }
  IndexRange result{std::max(known.low, limits.low),
                    std::min(known.high, limits.high)};
  IndexExpression atom = uniform(value, result, place);
  clamps.emplace(key, std::pair(atom, place));
  return atom;
}

//===----------------------------------------------------------------------===//
// Division and ranges
//===----------------------------------------------------------------------===//

IndexExpression IndexAlgebra::quotient(const IndexExpression &dividend,
                                       int64_t divisor) {
  auto key = std::pair(dividend, divisor);
  auto found = quotients.find(key);
  IndexExpression result;
  if (found != quotients.end()) {
    result.terms.emplace_back(found->second, 1);
    return result;
  }
  Atom atom;
  atom.kind = Atom::quotient;
  atom.dividend = dividend;
  atom.divisor = divisor;
  IndexRange bounds = range(dividend);
  atom.bounds = {floorQuotient(bounds.low, divisor),
                 floorQuotient(bounds.high, divisor)};
  atom.level = level(dividend);
  int64_t multiple = knownMultiple(dividend);
  atom.multiple = multiple % divisor == 0 ? multiple / divisor : 1;
  LaneForm form = laneForm(dividend);
  if (form.isUniform())
    atom.lane = {LaneForm::uniform, 0};
  else if (form.kind == LaneForm::linear && form.step > 0 &&
           form.step * (lanes - 1) < std::gcd(multiple, divisor))
    // The first lane stands at a multiple of the gcd within a block of
    // `divisor`, and the last one does not reach the next.
    atom.lane = {LaneForm::uniform, 0};
  else if (form.isContiguous() && divisor < lanes && lanes % divisor == 0 &&
           multiple % divisor == 0)
    atom.lane = {LaneForm::general, 0, divisor};
  else
    atom.lane = {LaneForm::general, 0};
  result = add(atom);
  quotients[key] = result.terms.front().first;
  return result;
}

IndexExpression IndexAlgebra::floorDiv(const IndexExpression &dividend,
                                       int64_t divisor) {
  assert(divisor > 0);
  if (divisor == 1)
    return dividend;
  // Multiples of the divisor come out.
  IndexExpression whole, rest;
  for (auto [atom, coefficient] : dividend.terms)
    if (coefficient % divisor == 0)
      whole.terms.emplace_back(atom, coefficient / divisor);
    else
      rest.terms.emplace_back(atom, coefficient);
  whole.constant = floorQuotient(dividend.constant, divisor);
  rest.constant = dividend.constant - whole.constant * divisor;
  if (rest.terms.empty())
    return whole;
  IndexRange bounds = range(rest);
  int64_t lowest = floorQuotient(bounds.low, divisor);
  if (lowest == floorQuotient(bounds.high, divisor))
    return whole + lowest;

  // A factor common to divisor and coefficients cancels.
  int64_t common = divisor;
  for (auto [atom, coefficient] : rest.terms)
    common = std::gcd(common, coefficient);
  if (common > 1) {
    IndexExpression reduced(floorQuotient(rest.constant, common));
    for (auto [atom, coefficient] : rest.terms)
      reduced.terms.emplace_back(atom, coefficient / common);
    return whole + floorDiv(reduced, divisor / common);
  }

  // The quotient of a quotient is one quotient.
  if (rest.terms.size() == 1 && rest.terms.front().second == 1) {
    const Atom &atom = atoms[rest.terms.front().first];
    if (atom.kind == Atom::quotient) {
      IndexExpression inner = atom.dividend + rest.constant * atom.divisor;
      int64_t innerDivisor = atom.divisor * divisor;
      return whole + floorDiv(inner, innerDivisor);
    }
  }

  // If the divisor and some terms are multiples of g and the other terms are
  // between 0 and g - 1, those do not matter. Remainders hide as a term and a
  // negative multiple of a quotient, so those may go with the small part.
  for (auto [pivot, pivotCoefficient] : rest.terms) {
    int64_t g = std::gcd(divisor, pivotCoefficient);
    if (g == 1)
      continue;
    for (bool moveQuotients : {false, true}) {
      IndexExpression multiples, small(rest.constant);
      for (auto [atom, coefficient] : rest.terms) {
        bool isRemainderPart = moveQuotients && coefficient < 0 &&
                               atoms[atom].kind == Atom::quotient;
        (coefficient % g == 0 && !isRemainderPart ? multiples : small)
            .terms.emplace_back(atom, coefficient);
      }
      if (multiples.terms.empty())
        continue;
      IndexRange smallRange = range(small);
      if (smallRange.low >= 0 && smallRange.high < g)
        return whole + floorDiv(multiples, divisor);
    }
  }
  return whole + quotient(rest, divisor);
}

IndexExpression IndexAlgebra::mod(const IndexExpression &dividend,
                                  int64_t divisor) {
  return dividend - floorDiv(dividend, divisor) * divisor;
}

IndexRange IndexAlgebra::simpleRange(const IndexExpression &expression) const {
  IndexRange sum{expression.constant, expression.constant};
  for (auto [atom, coefficient] : expression.terms) {
    IndexRange bounds = atoms[atom].bounds;
    sum.low += coefficient * (coefficient > 0 ? bounds.low : bounds.high);
    sum.high += coefficient * (coefficient > 0 ? bounds.high : bounds.low);
  }
  return sum;
}

IndexRange IndexAlgebra::range(const IndexExpression &expression,
                               unsigned depth) {
  IndexRange bounds = simpleRange(expression);
  if (depth == 0)
    return bounds;
  // c (e - k (e / k)) is between 0 and c (k - 1), which the sum of the ranges
  // does not see. The quotient atom may divide by a multiple of k.
  for (auto [atom, coefficient] : expression.terms) {
    if (atoms[atom].kind != Atom::quotient || coefficient >= 0)
      continue;
    int64_t k = std::gcd(-coefficient, atoms[atom].divisor);
    if (k == 1)
      continue;
    int64_t factor = -coefficient / k;
    IndexExpression dividend = atoms[atom].dividend;
    IndexExpression whole = floorDiv(dividend, atoms[atom].divisor / k);
    IndexExpression self;
    self.terms.emplace_back(atom, 1);
    IndexExpression rest = expression - whole * factor + self * -coefficient;
    IndexRange others = range(rest, depth - 1);
    bounds.low = std::max(bounds.low, others.low);
    bounds.high = std::min(bounds.high, others.high + factor * (k - 1));
  }
  return bounds;
}

IndexRange IndexAlgebra::range(const IndexExpression &expression) {
  return range(expression, 3);
}

int64_t IndexAlgebra::knownMultiple(const IndexExpression &expression) const {
  int64_t multiple = expression.constant;
  for (auto [atom, coefficient] : expression.terms)
    multiple = std::gcd(multiple, coefficient * atoms[atom].multiple);
  return multiple ? std::abs(multiple) : int64_t(1) << 40;
}

LaneForm IndexAlgebra::laneForm(const IndexExpression &expression) const {
  LaneForm form;
  bool varies = false;
  for (auto [atom, coefficient] : expression.terms) {
    LaneForm lane = atoms[atom].lane;
    if (lane.isUniform())
      continue;
    // Stairs stay stairs only if nothing else varies.
    if (lane.isStairs() && coefficient == 1 && !varies) {
      form = lane;
    } else {
      if (lane.kind == LaneForm::general || form.kind == LaneForm::general)
        return {LaneForm::general, 0};
      form.step += coefficient * lane.step;
    }
    varies = true;
  }
  if (form.kind != LaneForm::general)
    form.kind = form.step ? LaneForm::linear : LaneForm::uniform;
  return form;
}

unsigned IndexAlgebra::level(const IndexExpression &expression) const {
  unsigned deepest = 0;
  for (auto [atom, coefficient] : expression.terms)
    deepest = std::max(deepest, atoms[atom].level);
  return deepest;
}

IndexExpression IndexAlgebra::linearize(ArrayRef<IndexExpression> indices,
                                        ArrayRef<int64_t> shape) const {
  IndexExpression position;
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    position = position + indices[dim] * stride;
    stride *= shape[dim];
  }
  return position;
}

Indices IndexAlgebra::delinearize(const IndexExpression &position,
                                  ArrayRef<int64_t> shape) {
  Indices indices(shape.size());
  IndexExpression rest = position;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] == 1)
      continue;
    bool outermost = llvm::all_of(shape.take_front(dim),
                                  [](int64_t extent) { return extent == 1; });
    indices[dim] = outermost ? rest : mod(rest, shape[dim]);
    rest = floorDiv(rest, shape[dim]);
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void IndexAlgebra::levelPopped() {
  unsigned current = levels.current();
  auto forget = [&](auto &map) {
    std::erase_if(map,
                  [&](auto &entry) { return entry.second.level > current; });
  };
  forget(scalars);
  forget(vectors);
  std::erase_if(clamps,
                [&](auto &entry) { return entry.second.second > current; });
}

Value IndexAlgebra::constantIndex(int64_t value) {
  IndexExpression key(value);
  auto found = scalars.find(key);
  if (found != scalars.end())
    return found->second.value;
  Value made = levels.createAt<arith::ConstantIndexOp>(0, loc, value);
  scalars[key] = {made, 0};
  return made;
}

Value IndexAlgebra::atomScalar(AtomId id) {
  if (atoms[id].kind == Atom::variable)
    return atoms[id].scalar;
  IndexExpression self;
  self.terms.emplace_back(id, 1);
  auto found = scalars.find(self);
  if (found != scalars.end())
    return found->second.value;
  // Copies: evaluating the dividend may add atoms.
  IndexExpression dividend = atoms[id].dividend;
  int64_t divisor = atoms[id].divisor;
  unsigned place = atoms[id].level;
  Value a = scalar(dividend);
  Value d = constantIndex(divisor);
  bool nonNegative = range(dividend).low >= 0;
  Value made = levels.emitAt(place, [&](OpBuilder &b) -> Value {
    if (nonNegative)
      return arith::DivUIOp::create(b, loc, a, d);
    return arith::FloorDivSIOp::create(b, loc, a, d);
  });
  if (place == levels.current())
    ++divisions;
  scalars[self] = {made, place};
  return made;
}

Value IndexAlgebra::scalar(const IndexExpression &expression) {
  if (expression.isConstant())
    return constantIndex(expression.constant);
  auto found = scalars.find(expression);
  if (found != scalars.end())
    return found->second.value;
  // Sum up from the outermost level inwards, so that each partial sum is
  // computed as far out as it can be.
  SmallVector<std::pair<AtomId, int64_t>> terms(expression.terms.begin(),
                                                expression.terms.end());
  llvm::sort(terms, [&](auto &a, auto &b) {
    return std::pair(atoms[a.first].level, a.first) <
           std::pair(atoms[b.first].level, b.first);
  });
  IndexExpression partial;
  Value sum;
  for (auto [atom, coefficient] : terms) {
    IndexExpression term;
    term.terms.emplace_back(atom, coefficient);
    unsigned place = atoms[atom].level;
    Value value;
    auto known = scalars.find(term);
    if (known != scalars.end()) {
      value = known->second.value;
    } else {
      value = atomScalar(atom);
      if (coefficient != 1) {
        Value factor = constantIndex(coefficient), base = value;
        value = levels.createAt<arith::MulIOp>(place, loc, base, factor);
        scalars[term] = {value, place};
      }
    }
    partial = partial + term;
    if (!sum) {
      sum = value;
      continue;
    }
    auto knownSum = scalars.find(partial);
    if (knownSum != scalars.end()) {
      sum = knownSum->second.value;
      continue;
    }
    Value left = sum;
    sum = levels.createAt<arith::AddIOp>(place, loc, left, value);
    scalars[partial] = {sum, place};
  }
  if (expression.constant) {
    Value offset = constantIndex(expression.constant), left = sum;
    unsigned place = level(expression);
    sum = levels.createAt<arith::AddIOp>(place, loc, left, offset);
    scalars[expression] = {sum, place};
  }
  return sum;
}

Type IndexAlgebra::laneType(const IndexExpression &expression) const {
  __int128 reach = std::abs(expression.constant);
  for (auto [atom, coefficient] : expression.terms) {
    IndexRange bounds = atoms[atom].bounds;
    reach += __int128(std::abs(coefficient)) *
             std::max(std::abs(bounds.low), std::abs(bounds.high) + lanes);
  }
  bool small = reach < std::numeric_limits<int32_t>::max();
  return small ? builder.getI32Type() : builder.getI64Type();
}

Value IndexAlgebra::constantVector(int64_t value, Type elementType) {
  auto type = VectorType::get({lanes}, elementType);
  return levels.emitAt(0, [&](OpBuilder &b) -> Value {
    auto attribute = DenseElementsAttr::get(
        type, cast<Attribute>(b.getIntegerAttr(elementType, value)));
    return arith::ConstantOp::create(b, loc, attribute);
  });
}

Value IndexAlgebra::laneOffsets(int64_t step, Type elementType) {
  auto type = VectorType::get({lanes}, elementType);
  SmallVector<Attribute> offsets;
  for (int64_t lane = 0; lane < lanes; ++lane)
    offsets.push_back(builder.getIntegerAttr(elementType, lane * step));
  return levels.createAt<arith::ConstantOp>(
      0, loc, DenseElementsAttr::get(type, offsets));
}

static Value castLanes(OpBuilder &b, Location loc, Value vector,
                       Type elementType) {
  auto type = cast<VectorType>(vector.getType());
  unsigned from = type.getElementTypeBitWidth();
  unsigned to = elementType.getIntOrFloatBitWidth();
  if (from == to)
    return vector;
  Type result = type.clone(elementType);
  if (from > to)
    return arith::TruncIOp::create(b, loc, result, vector);
  return arith::ExtSIOp::create(b, loc, result, vector);
}

Value IndexAlgebra::atomVector(AtomId id, Type elementType) {
  unsigned place = atoms[id].level;
  if (atoms[id].kind == Atom::variable) {
    Value given = atoms[id].vector;
    return levels.emitAt(place, [&](OpBuilder &b) {
      return castLanes(b, loc, given, elementType);
    });
  }
  IndexExpression dividend = atoms[id].dividend;
  Value a = vector(dividend);
  Type type = cast<VectorType>(a.getType()).getElementType();
  Value d = constantVector(atoms[id].divisor, type);
  bool nonNegative = range(dividend).low >= 0;
  return levels.emitAt(place, [&](OpBuilder &b) -> Value {
    Value q = nonNegative ? Value(arith::DivUIOp::create(b, loc, a, d))
                          : Value(arith::FloorDivSIOp::create(b, loc, a, d));
    return castLanes(b, loc, q, elementType);
  });
}

Value IndexAlgebra::vector(const IndexExpression &expression) {
  Type elementType = laneType(expression);
  auto key = std::pair(expression, elementType.getIntOrFloatBitWidth());
  auto found = vectors.find(key);
  if (found != vectors.end())
    return found->second.value;
  unsigned place = level(expression);
  IndexExpression simple(expression.constant), general;
  for (auto term : expression.terms)
    (atoms[term.first].lane.kind == LaneForm::general ? general : simple)
        .terms.push_back(term);
  if (!general.terms.empty())
    ++generalVectors;
  Value base = scalar(simple);
  int64_t step = laneForm(simple).step;
  auto type = VectorType::get({lanes}, elementType);
  Value offsets = step ? laneOffsets(step, elementType) : Value();
  Value sum = levels.emitAt(level(simple), [&](OpBuilder &b) -> Value {
    Value integer = arith::IndexCastOp::create(b, loc, elementType, base);
    Value all = vector::BroadcastOp::create(b, loc, type, integer);
    return offsets ? Value(arith::AddIOp::create(b, loc, all, offsets)) : all;
  });
  for (auto [atom, coefficient] : general.terms) {
    Value value = atomVector(atom, elementType);
    Value factor = constantVector(coefficient, elementType);
    Value left = sum;
    sum = levels.emitAt(place, [&](OpBuilder &b) -> Value {
      Value scaled = coefficient == 1
                         ? value
                         : arith::MulIOp::create(b, loc, value, factor);
      return arith::AddIOp::create(b, loc, left, scaled);
    });
  }
  vectors[key] = {sum, place};
  return sum;
}

} // namespace tenon::codegen
