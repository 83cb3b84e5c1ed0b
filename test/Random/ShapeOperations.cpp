//===- ShapeOperations.cpp - Random operations that move elements --------===//
//
// Broadcasts, views, slices, padding, concatenation, iota.
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

#include <numeric>

using namespace tenon::random;

namespace {

void broadcast(Program &program) {
  Value x = anyValue(program, 0, 100);
  Shape shape = x.type.shape, dims;
  // Extents of 1 may grow, and new dimensions come between.
  for (int64_t &extent : shape)
    if (extent == 1 && program.random.chance(50))
      extent = program.random.between(1, 4);
  Shape result;
  for (int64_t extent : shape) {
    if (program.random.chance(35))
      result.push_back(program.random.between(1, 5));
    dims.push_back(int64_t(result.size()));
    result.push_back(extent);
  }
  if (program.random.chance(35))
    result.push_back(program.random.between(1, 9));
  Type type = x.type.with(result);
  if (type.size() > 2000 || type.rank() > 6)
    return;
  program.add(type, "stablehlo.broadcast_in_dim " + x.name + ", dims = " +
                        list(dims) + " : " + signature({x.type}, {type}));
}

void reshape(Program &program) {
  Value x = anyValue(program);
  Shape factors;
  int64_t rest = x.type.size();
  if (rest == 0) {
    factors = {0, program.random.between(1, 3)};
  } else {
    for (int64_t factor = 2; factor <= rest; ++factor)
      while (rest % factor == 0) {
        factors.push_back(factor);
        rest /= factor;
      }
    program.random.shuffle(factors);
    // Merge neighbours until few are left.
    while (factors.size() > 1 &&
           (factors.size() > 4 || program.random.chance(50))) {
      factors[factors.size() - 2] *= factors.back();
      factors.pop_back();
    }
    if (program.random.chance(30))
      factors.insert(factors.begin() +
                         program.random.below(int64_t(factors.size()) + 1),
                     1);
  }
  Type type = x.type.with(factors);
  program.add(type, "stablehlo.reshape " + x.name + " : " +
                        signature({x.type}, {type}));
}

void transpose(Program &program) {
  Value x = anyValue(program, 1);
  Shape permutation(x.type.shape.size()), shape;
  std::iota(permutation.begin(), permutation.end(), 0);
  program.random.shuffle(permutation);
  for (int64_t dim : permutation)
    shape.push_back(x.type.shape[size_t(dim)]);
  Type type = x.type.with(shape);
  program.add(type, "stablehlo.transpose " + x.name +
                        ", dims = " + list(permutation) + " : " +
                        signature({x.type}, {type}));
}

void slice(Program &program) {
  Value x = anyValue(program, 1);
  std::string ranges;
  Shape shape;
  for (int64_t extent : x.type.shape) {
    int64_t start = program.random.between(0, extent);
    int64_t limit = program.random.between(start, extent);
    if (start == limit && extent && program.random.chance(85)) {
      start = 0;
      limit = extent;
    }
    int64_t stride =
        program.random.chance(30) ? program.random.between(2, 3) : 1;
    ranges += (ranges.empty() ? "" : ", ") + std::to_string(start) + ":" +
              std::to_string(limit) + ":" + std::to_string(stride);
    shape.push_back((limit - start + stride - 1) / stride);
  }
  Type type = x.type.with(shape);
  program.add(type, "stablehlo.slice " + x.name + " [" + ranges +
                        "] : " + signature({x.type}, {type}));
}

void pad(Program &program) {
  Value x = anyValue(program, 1, 400);
  Shape low, high, interior, shape;
  for (int64_t extent : x.type.shape) {
    interior.push_back(program.random.chance(25) ? program.random.between(1, 2)
                                                 : 0);
    int64_t inner = extent + std::max<int64_t>(extent - 1, 0) * interior.back();
    low.push_back(program.random.between(-1, 3));
    high.push_back(program.random.between(-1, 3));
    if (inner + low.back() + high.back() < 0)
      low.back() = high.back() = 0;
    shape.push_back(inner + low.back() + high.back());
  }
  Type type = x.type.with(shape);
  if (type.size() > 3000)
    return;
  Type scalar = x.type.with(Shape{});
  Value padding = program.of(scalar);
  program.add(type, "stablehlo.pad " + x.name + ", " + padding.name +
                        ", low = " + list(low) + ", high = " + list(high) +
                        ", interior = " + list(interior) + " : " +
                        signature({x.type, scalar}, {type}));
}

void concatenate(Program &program) {
  Value x = anyValue(program, 1, 400);
  int64_t dim = program.random.below(x.type.rank());
  std::vector<Type> types;
  std::string names;
  Type type = x.type;
  type.shape[size_t(dim)] = 0;
  for (int64_t i = 0, count = program.random.between(1, 3); i < count; ++i) {
    Type part = x.type;
    if (i && program.random.chance(50))
      part.shape[size_t(dim)] = program.random.between(0, 4);
    Value operand = i ? program.of(part) : x;
    names += (i ? ", " : "") + operand.name;
    types.push_back(part);
    type.shape[size_t(dim)] += part.shape[size_t(dim)];
  }
  program.add(type, "stablehlo.concatenate " + names + ", dim = " +
                        std::to_string(dim) + " : " + signature(types, {type}));
}

void reverse(Program &program) {
  Value x = anyValue(program, 1);
  Shape dims;
  for (int64_t dim = 0; dim < x.type.rank(); ++dim)
    if (program.random.chance(50))
      dims.push_back(dim);
  program.add(x.type, "stablehlo.reverse " + x.name + ", dims = " + list(dims) +
                          " : " + x.type.text());
}

void iota(Program &program) {
  Type type{program.shape(1), &program.element([](const Element &e) {
              return e.kind != Class::boolean;
            })};
  program.add(type, "stablehlo.iota dim = " +
                        std::to_string(program.random.below(type.rank())) +
                        " : " + type.text());
}

/// Start indices, sometimes out of bounds, where they are moved inside.
std::string starts(Program &program, const Type &of, std::vector<Type> &types) {
  Type index{{}, &program.element([](const Element &e) {
               return e.isInteger() && e.bits >= 16;
             })};
  bool isSigned = index.element->kind == Class::signedInteger;
  std::string names;
  for (int64_t extent : of.shape) {
    names += ", " + program.integers(index, isSigned ? -2 : 0, extent + 1).name;
    types.push_back(index);
  }
  return names;
}

void dynamicSlice(Program &program) {
  Value x = anyValue(program, 1);
  Shape sizes;
  for (int64_t extent : x.type.shape)
    sizes.push_back(
        program.random.between(std::min<int64_t>(extent, 1), extent));
  std::vector<Type> types{x.type};
  Type type = x.type.with(sizes);
  std::string names = starts(program, x.type, types);
  program.add(type, "stablehlo.dynamic_slice " + x.name + names + ", sizes = " +
                        list(sizes) + " : " + signature(types, {type}));
}

void dynamicUpdate(Program &program) {
  Value x = anyValue(program, 1);
  Shape sizes;
  for (int64_t extent : x.type.shape)
    sizes.push_back(
        program.random.between(std::min<int64_t>(extent, 1), extent));
  Value update = program.of(x.type.with(sizes));
  std::vector<Type> types{x.type, update.type};
  std::string names = starts(program, x.type, types);
  program.add(x.type, "stablehlo.dynamic_update_slice " + x.name + ", " +
                          update.name + names + " : " +
                          signature(types, {x.type}));
}

} // namespace

std::vector<Emitter> tenon::random::shapeEmitters() {
  return {broadcast, broadcast, reshape,      transpose,
          transpose, slice,     pad,          concatenate,
          reverse,   iota,      dynamicSlice, dynamicUpdate};
}
