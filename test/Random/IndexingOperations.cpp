//===- IndexingOperations.cpp - Random operations with indices as data ---===//
//
// Gathers and scatters along one dimension with and without batching
// dimensions, sorts, the largest elements.
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

using namespace tenon::random;

namespace {

const Element &indexElement(Program &program) {
  return program.element(
      [](const Element &e) { return e.isInteger() && e.bits >= 32; });
}

/// Indices into a dimension, some of them out of bounds.
Value indices(Program &program, const Shape &shape, int64_t extent) {
  Type type{shape, &indexElement(program)};
  bool isSigned = type.element->kind == Class::signedInteger;
  int64_t out = program.random.chance(30) ? 2 : 0;
  return program.integers(type, isSigned ? -out : 0,
                          std::max<int64_t>(extent - 1 + out, 0));
}

/// Slices of `x` along one dimension, at indices of any shape.
void gather(Program &program) {
  Value x = anyValue(program, 1, 400);
  int64_t dim = program.random.below(x.type.rank());
  int64_t extent = x.type.shape[size_t(dim)];
  if (extent == 0)
    return;
  Shape batch;
  for (int64_t i = 0, rank = program.random.between(0, 2); i < rank; ++i)
    batch.push_back(program.random.between(1, 5));
  Value at = indices(program, batch, extent);
  // The gathered dimension is dropped or keeps a slice of some size.
  bool collapsed = program.random.chance(60);
  int64_t size = collapsed ? 1 : program.random.between(1, extent);
  Shape sizes = x.type.shape, offsets, shape = batch;
  sizes[size_t(dim)] = size;
  for (int64_t d = 0; d < x.type.rank(); ++d) {
    if (d == dim && collapsed)
      continue;
    offsets.push_back(int64_t(shape.size()));
    shape.push_back(sizes[size_t(d)]);
  }
  Type type = x.type.with(shape);
  if (type.size() > 3000)
    return;
  program.add(
      type, "\"stablehlo.gather\"(" + x.name + ", " + at.name +
                ") <{dimension_numbers = #stablehlo.gather<offset_dims = " +
                list(offsets) +
                (collapsed ? ", collapsed_slice_dims = " + list({dim}) : "") +
                ", start_index_map = " + list({dim}) +
                ", index_vector_dim = " + std::to_string(batch.size()) +
                ">, indices_are_sorted = false, slice_sizes = " + array(sizes) +
                "}> : " + signature({x.type, at.type}, {type}));
}

/// take_along_axis: the leading dimension is shared, the last is indexed.
void gatherBatched(Program &program) {
  Value x = anyValue(program, 2, 400);
  Shape of = x.type.shape;
  if (x.type.rank() != 2 || of[1] == 0)
    return;
  int64_t count = program.random.between(1, 5);
  Value at = indices(program, {of[0], count, 1}, of[1]);
  Type type = x.type.with(Shape{of[0], count});
  program.add(type, "\"stablehlo.gather\"(" + x.name + ", " + at.name +
                        ") <{dimension_numbers = #stablehlo.gather<"
                        "collapsed_slice_dims = [1], operand_batching_dims = "
                        "[0], start_indices_batching_dims = [0], "
                        "start_index_map = [1], index_vector_dim = 2>, "
                        "indices_are_sorted = false, slice_sizes = " +
                        array({std::min<int64_t>(of[0], 1), 1}) +
                        "}> : " + signature({x.type, at.type}, {type}));
}

void scatter(Program &program) {
  Value x = anyValue(program, 1, 400);
  const Element &element = *x.type.element;
  int64_t dim = program.random.below(x.type.rank());
  int64_t extent = x.type.shape[size_t(dim)];
  if (extent == 0)
    return;
  int64_t count = program.random.between(1, 6);
  Value at = indices(program, {count, 1}, extent);
  Shape windows, inserted{dim}, shape{count};
  for (int64_t d = 0; d < x.type.rank(); ++d)
    if (d != dim) {
      windows.push_back(int64_t(shape.size()));
      shape.push_back(x.type.shape[size_t(d)]);
    }
  Value updates = program.of(x.type.with(shape));
  program.add(
      x.type,
      "\"stablehlo.scatter\"(" + x.name + ", " + at.name + ", " + updates.name +
          ") <{scatter_dimension_numbers = #stablehlo.scatter<" +
          (windows.empty() ? ""
                           : "update_window_dims = " + list(windows) + ", ") +
          "inserted_window_dims = " + list(inserted) +
          ", scatter_dims_to_operand_dims = " + list(inserted) +
          ", index_vector_dim = 1>, indices_are_sorted = false, "
          "unique_indices = false}> " +
          region(program, element,
                 combiner(program, element, program.random.chance(40))) +
          " : " + signature({x.type, at.type, updates.type}, {x.type}));
}

void sort(Program &program) {
  Value x = anyOf(program, isNumber, 1);
  const Element &element = *x.type.element;
  bool pair = program.random.chance(40);
  Value y = pair ? program.of(x.type.with(
                       program.element([](const Element &) { return true; })))
                 : x;
  std::string s = x.type.with(Shape{}).text(), t = y.type.with(Shape{}).text();
  std::string a = program.local(), b = program.local(), c = program.local(),
              d = program.local(), less = program.local();
  std::string kind = isReal(element)                        ? "TOTALORDER"
                     : element.kind == Class::signedInteger ? "SIGNED"
                                                            : "UNSIGNED";
  std::string direction = program.random.chance(50) ? "LT" : "GT";
  std::string text =
      "\"stablehlo.sort\"(" + x.name + (pair ? ", " + y.name : "") +
      ") <{dimension = " + std::to_string(program.random.below(x.type.rank())) +
      " : i64, is_stable = true}> ({\n    ^bb0(" + a + ": " + s + ", " + b +
      ": " + s;
  if (pair)
    text += ", " + c + ": " + t + ", " + d + ": " + t;
  text += "):\n      " + less + " = stablehlo.compare " + direction + ", " + a +
          ", " + b + ", " + kind + " : (" + s + ", " + s +
          ") -> tensor<i1>\n      stablehlo.return " + less +
          " : tensor<i1>\n  }) : ";
  std::vector<Type> types{x.type};
  if (pair)
    types.push_back(y.type);
  program.add(types, text + signature(types, types));
}

void topK(Program &program) {
  Value x = anyOf(program, isNumber, 1);
  int64_t extent = x.type.shape.back();
  Shape shape = x.type.shape;
  shape.back() = program.random.between(std::min<int64_t>(extent, 1), extent);
  Type values = x.type.with(shape), places{shape, &elementNamed("i32")};
  program.add({values, places}, "chlo.top_k(" + x.name +
                                    ", k = " + std::to_string(shape.back()) +
                                    ") : " + x.type.text() + " -> (" +
                                    values.text() + ", " + places.text() + ")");
}

} // namespace

std::vector<Emitter> tenon::random::indexingEmitters() {
  return {gather, gather, gatherBatched, scatter, scatter, sort, topK};
}
