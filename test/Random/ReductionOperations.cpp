//===- ReductionOperations.cpp - Random operations that combine elements -===//
//
// reduce with one and two operands, windows, running combinations, and the
// gradient of pooling.
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

using namespace tenon::random;

namespace {

bool combines(const Element &) { return true; }

void reduce(Program &program) {
  Value x = anyOf(program, combines, 1);
  std::string operation =
      combiner(program, *x.type.element, program.random.chance(35));
  Shape dims, kept;
  int64_t shape = program.random.below(3);
  for (int64_t dim = 0, rank = x.type.rank(); dim < rank; ++dim) {
    // Trailing and leading dimensions are the common cases.
    bool reduced = shape == 0   ? dim >= rank / 2
                   : shape == 1 ? dim < (rank + 1) / 2
                                : program.random.chance(50);
    if (reduced)
      dims.push_back(dim);
    else
      kept.push_back(x.type.shape[size_t(dim)]);
  }
  Type scalar = x.type.with(Shape{}), type = x.type.with(kept);
  Value init = program.of(scalar);
  program.add(type, "stablehlo.reduce(" + x.name + " init: " + init.name +
                        ") applies " + operation +
                        " across dimensions = " + list(dims) + " : " +
                        signature({x.type, scalar}, {type}));
}

/// The largest element and where it is.
void argmax(Program &program) {
  Value x = anyOf(program, isNumber, 1);
  const Element &index = elementNamed("i32");
  Type places = x.type.with(index), scalar = x.type.with(Shape{});
  int64_t dim = program.random.below(x.type.rank());
  Value iota =
      program.add(places, "stablehlo.iota dim = " + std::to_string(dim) +
                              " : " + places.text());
  Value init = program.of(scalar);
  Value zero = program.integers({{}, &index}, 0, 0);
  Shape kept = x.type.shape;
  kept.erase(kept.begin() + dim);
  std::string a = program.local(), b = program.local(), i = program.local(),
              j = program.local(), t = program.local(), u = program.local(),
              v = program.local(), w = program.local(), e = program.local(),
              f = program.local();
  std::string kind = isReal(*x.type.element) ? "FLOAT"
                     : x.type.element->kind == Class::signedInteger
                         ? "SIGNED"
                         : "UNSIGNED";
  std::string s = scalar.text();
  std::string text = "stablehlo.reduce(" + x.name + " init: " + init.name +
                     "), (" + iota.name + " init: " + zero.name +
                     ") across dimensions = [" + std::to_string(dim) + "] : " +
                     signature({x.type, places, scalar, {{}, &index}},
                               {x.type.with(kept), places.with(kept)}) +
                     "\n   reducer(" + a + ": " + s + ", " + b + ": " + s +
                     ") (" + i + ": tensor<i32>, " + j + ": tensor<i32>) {\n";
  std::string compare = " : (" + s + ", " + s + ") -> tensor<i1>\n";
  text += "    " + t + " = stablehlo.compare GT, " + a + ", " + b + ", " +
          kind + compare;
  text += "    " + u + " = stablehlo.select " + t + ", " + a + ", " + b +
          " : tensor<i1>, " + s + "\n";
  text += "    " + e + " = stablehlo.compare EQ, " + a + ", " + b + ", " +
          kind + compare;
  text +=
      "    " + f + " = stablehlo.minimum " + i + ", " + j + " : tensor<i32>\n";
  text += "    " + v + " = stablehlo.select " + t + ", " + i + ", " + j +
          " : tensor<i1>, tensor<i32>\n";
  text += "    " + w + " = stablehlo.select " + e + ", " + f + ", " + v +
          " : tensor<i1>, tensor<i32>\n";
  text +=
      "    stablehlo.return " + u + ", " + w + " : " + s + ", tensor<i32>\n  }";
  program.add({x.type.with(kept), places.with(kept)}, text);
}

/// `dense<[[a, b], ...]> : tensor<Nx2xi64>`.
std::string pairs(const Shape &low, const Shape &high) {
  std::string text;
  for (size_t i = 0; i < low.size(); ++i)
    text += (i ? ", " : "") + list({low[i], high[i]});
  return "dense<[" + text + "]> : tensor<" + std::to_string(low.size()) +
         "x2xi64>";
}

void window(Program &program) {
  Value x = anyOf(program, combines, 1, 400);
  std::string operation =
      combiner(program, *x.type.element, program.random.chance(45));
  Shape sizes, strides, bases, dilations, low, high, shape;
  for (int64_t extent : x.type.shape) {
    sizes.push_back(program.random.chance(40) ? 1
                                              : program.random.between(1, 4));
    strides.push_back(program.random.between(1, 2));
    bases.push_back(program.random.chance(15) ? 2 : 1);
    dilations.push_back(program.random.chance(15) ? 2 : 1);
    low.push_back(program.random.between(0, 2));
    high.push_back(program.random.between(0, 2));
    int64_t base = extent ? (extent - 1) * bases.back() + 1 : 0;
    int64_t span = (sizes.back() - 1) * dilations.back() + 1;
    int64_t padded = base + low.back() + high.back();
    shape.push_back(padded < span || padded == 0
                        ? 0
                        : (padded - span) / strides.back() + 1);
  }
  Type scalar = x.type.with(Shape{}), type = x.type.with(shape);
  Value init = program.of(scalar);
  program.add(type, "\"stablehlo.reduce_window\"(" + x.name + ", " + init.name +
                        ") <{window_dimensions = " + array(sizes) +
                        ", window_strides = " + array(strides) +
                        ", base_dilations = " + array(bases) +
                        ", window_dilations = " + array(dilations) +
                        ", padding = " + pairs(low, high) + "}> " +
                        region(program, *x.type.element, operation) + " : " +
                        signature({x.type, scalar}, {type}));
}

/// cumsum and the like: a window of the whole dimension, padded on one side.
void running(Program &program) {
  Value x = anyOf(program, combines, 1, 200);
  std::string operation =
      combiner(program, *x.type.element, program.random.chance(35));
  size_t dim = size_t(program.random.below(x.type.rank()));
  Shape ones(x.type.shape.size(), 1), sizes = ones;
  Shape low(x.type.shape.size(), 0), high = low;
  if (x.type.shape[dim] == 0)
    return;
  sizes[dim] = x.type.shape[dim];
  (program.random.chance(70) ? low : high)[dim] = sizes[dim] - 1;
  Type scalar = x.type.with(Shape{});
  Value init = program.of(scalar);
  program.add(x.type, "\"stablehlo.reduce_window\"(" + x.name + ", " +
                          init.name + ") <{window_dimensions = " +
                          array(sizes) + ", padding = " + pairs(low, high) +
                          "}> " + region(program, *x.type.element, operation) +
                          " : " + signature({x.type, scalar}, {x.type}));
}

void selectAndScatter(Program &program) {
  Value x = anyOf(program, isNumber, 1, 300);
  const Element &element = *x.type.element;
  Shape sizes, strides, low, high, shape;
  for (int64_t extent : x.type.shape) {
    sizes.push_back(program.random.between(1, 3));
    strides.push_back(program.random.between(1, 3));
    low.push_back(program.random.between(0, sizes.back() - 1));
    high.push_back(program.random.between(0, sizes.back() - 1));
    int64_t padded = extent + low.back() + high.back();
    if (extent == 0 || padded < sizes.back())
      return;
    shape.push_back((padded - sizes.back()) / strides.back() + 1);
  }
  Value source = program.of(x.type.with(shape));
  Type scalar = x.type.with(Shape{});
  Value init = program.of(scalar);
  std::string s = scalar.text(), a = program.local(), b = program.local(),
              c = program.local();
  std::string kind = isReal(element)                        ? "FLOAT"
                     : element.kind == Class::signedInteger ? "SIGNED"
                                                            : "UNSIGNED";
  std::string adds = region(program, element, "stablehlo.add");
  program.add(
      x.type,
      "\"stablehlo.select_and_scatter\"(" + x.name + ", " + source.name + ", " +
          init.name + ") <{window_dimensions = " + array(sizes) +
          ", window_strides = " + array(strides) +
          ", padding = " + pairs(low, high) + "}> ({\n    ^bb0(" + a + ": " +
          s + ", " + b + ": " + s + "):\n      " + c +
          " = stablehlo.compare GE, " + a + ", " + b + ", " + kind + " : (" +
          s + ", " + s + ") -> tensor<i1>\n      stablehlo.return " + c +
          " : tensor<i1>\n  }, {" + adds.substr(2, adds.size() - 3) +
          ") : " + signature({x.type, source.type, scalar}, {x.type}));
}

} // namespace

std::vector<Emitter> tenon::random::reductionEmitters() {
  return {reduce, reduce, reduce,  reduce,
          argmax, window, running, selectAndScatter};
}
