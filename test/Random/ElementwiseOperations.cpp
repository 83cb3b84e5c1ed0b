//===- ElementwiseOperations.cpp - Random operations on elements ---------===//
//
// Functions of one and two elements, comparisons, selections, conversions.
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

using namespace tenon::random;

namespace {

using Names = std::vector<std::string>;

/// CHLO's functions print both types.
std::string unary(const std::string &name, const Value &x) {
  std::string type = x.type.text();
  return name + " " + x.name + " : " +
         (llvm::StringRef(name).starts_with("chlo.") ? type + " -> " + type
                                                     : type);
}

Value result(Program &program, const std::string &name, const Value &x) {
  return program.add(x.type, unary(name, x));
}

void realFunction(Program &program) {
  static const Names names = {"stablehlo.abs",
                              "stablehlo.negate",
                              "stablehlo.sign",
                              "stablehlo.floor",
                              "stablehlo.ceil",
                              "stablehlo.round_nearest_afz",
                              "stablehlo.round_nearest_even",
                              "stablehlo.sqrt",
                              "stablehlo.exponential",
                              "stablehlo.exponential_minus_one",
                              "stablehlo.log",
                              "stablehlo.log_plus_one",
                              "stablehlo.logistic",
                              "stablehlo.tanh",
                              "stablehlo.tan",
                              "stablehlo.sine",
                              "stablehlo.cosine",
                              "stablehlo.rsqrt",
                              "stablehlo.cbrt",
                              "chlo.square",
                              "chlo.erf",
                              "chlo.erfc",
                              "chlo.erf_inv",
                              "chlo.acos",
                              "chlo.acosh",
                              "chlo.asin",
                              "chlo.asinh",
                              "chlo.atan",
                              "chlo.atanh",
                              "chlo.sinh",
                              "chlo.cosh"};
  result(program, program.random.oneOf(names), anyOf(program, isReal));
}

void integerFunction(Program &program) {
  static const Names names = {"stablehlo.not", "stablehlo.popcnt",
                              "stablehlo.count_leading_zeros",
                              "stablehlo.negate"};
  static const Names ofSigned = {"stablehlo.abs", "stablehlo.sign"};
  Value x = anyOf(program, [](const Element &e) { return e.isInteger(); });
  bool isSigned = x.type.element->kind == Class::signedInteger;
  result(program,
         program.random.oneOf(isSigned && program.random.chance(30) ? ofSigned
                                                                    : names),
         x);
}

void complexFunction(Program &program) {
  Value x =
      anyOf(program, [](const Element &e) { return e.kind == Class::complex; });
  const Element &part =
      elementNamed(x.type.element->bits == 64 ? "f32" : "f64");
  Value y = program.of(x.type);
  switch (program.random.below(5)) {
  case 0:
    program.add(x.type.with(part),
                "stablehlo.real " + x.name + " : " +
                    signature({x.type}, {x.type.with(part)}));
    break;
  case 1:
    program.add(x.type.with(part),
                "stablehlo.imag " + x.name + " : " +
                    signature({x.type}, {x.type.with(part)}));
    break;
  case 2: {
    Value real = program.of(x.type.with(part));
    Value imaginary = program.of(x.type.with(part));
    program.add(x.type, "stablehlo.complex " + real.name + ", " +
                            imaginary.name + " : " + x.type.text());
    break;
  }
  case 3:
    result(program, "stablehlo.negate", x);
    break;
  default: {
    static const Names names = {"stablehlo.add", "stablehlo.subtract",
                                "stablehlo.multiply"};
    program.add(x.type, program.random.oneOf(names) + " " + x.name + ", " +
                            y.name + " : " + x.type.text());
  }
  }
}

void isFinite(Program &program) {
  Value x = anyOf(program, isReal);
  Type type = x.type.with(elementNamed("i1"));
  program.add(type, "stablehlo.is_finite " + x.name + " : " +
                        signature({x.type}, {type}));
}

void pair(Program &program) {
  static const Names ofReals = {
      "stablehlo.add",       "stablehlo.subtract", "stablehlo.multiply",
      "stablehlo.divide",    "stablehlo.maximum",  "stablehlo.minimum",
      "stablehlo.remainder", "stablehlo.power",    "stablehlo.atan2"};
  static const Names ofIntegers = {"stablehlo.add",
                                   "stablehlo.subtract",
                                   "stablehlo.multiply",
                                   "stablehlo.divide",
                                   "stablehlo.maximum",
                                   "stablehlo.minimum",
                                   "stablehlo.remainder",
                                   "stablehlo.and",
                                   "stablehlo.or",
                                   "stablehlo.xor",
                                   "stablehlo.shift_left",
                                   "stablehlo.shift_right_arithmetic",
                                   "stablehlo.shift_right_logical",
                                   "stablehlo.power"};
  static const Names ofBooleans = {"stablehlo.add",     "stablehlo.multiply",
                                   "stablehlo.maximum", "stablehlo.minimum",
                                   "stablehlo.and",     "stablehlo.or",
                                   "stablehlo.xor"};
  Value x =
      anyOf(program, [](const Element &e) { return e.kind != Class::complex; });
  Value y = program.of(x.type);
  const Element &element = *x.type.element;
  program.add(x.type, program.random.oneOf(isReal(element)       ? ofReals
                                           : element.isInteger() ? ofIntegers
                                                                 : ofBooleans) +
                          " " + x.name + ", " + y.name + " : " + x.type.text());
}

void chloPair(Program &program) {
  Value x = anyOf(program, isNumber);
  Value y = program.of(x.type);
  std::string type = x.type.text();
  program.add(x.type,
              (isReal(*x.type.element) ? "chlo.next_after " : "chlo.mulhi ") +
                  x.name + ", " + y.name + " : " + type + ", " + type + " -> " +
                  type);
}

void compare(Program &program) {
  static const Names directions = {"EQ", "NE", "GE", "GT", "LE", "LT"};
  Value x = anyValue(program), y = program.of(x.type);
  const Element &element = *x.type.element;
  bool complex = element.kind == Class::complex;
  std::string direction = complex ? directions[size_t(program.random.below(2))]
                                  : program.random.oneOf(directions);
  std::string kind = element.kind == Class::signedInteger ? "SIGNED"
                     : isReal(element)
                         ? program.random.chance(25) ? "TOTALORDER" : "FLOAT"
                     : complex ? "FLOAT"
                               : "UNSIGNED";
  Type type = x.type.with(elementNamed("i1"));
  program.add(type, "stablehlo.compare " + direction + ", " + x.name + ", " +
                        y.name + ", " + kind + " : " +
                        signature({x.type, x.type}, {type}));
}

void select(Program &program) {
  Value x = anyValue(program), y = program.of(x.type);
  Type type = x.type.with(elementNamed("i1"));
  if (program.random.chance(20))
    type.shape.clear();
  Value predicate = program.of(type);
  program.add(x.type, "stablehlo.select " + predicate.name + ", " + x.name +
                          ", " + y.name + " : " + type.text() + ", " +
                          x.type.text());
}

void clamp(Program &program) {
  Value x = anyOf(program, isNumber);
  Type bound = program.random.chance(30) ? x.type.with(Shape{}) : x.type;
  Value low = program.of(bound), high = program.of(bound);
  program.add(x.type, "stablehlo.clamp " + low.name + ", " + x.name + ", " +
                          high.name + " : " +
                          signature({bound, x.type, bound}, {x.type}));
}

void convert(Program &program) {
  Value x = anyValue(program);
  Type type =
      x.type.with(program.element([](const Element &) { return true; }));
  program.add(type, "stablehlo.convert " + x.name + " : " +
                        signature({x.type}, {type}));
}

void bitcast(Program &program) {
  Value x = anyOf(program, isNumber);
  const Element &to =
      program.element([&](const Element &e) { return isNumber(e); });
  Type type = x.type.with(to);
  int64_t from = x.type.element->bits;
  if (from > to.bits) {
    type.shape.push_back(from / to.bits);
  } else if (from < to.bits) {
    if (type.shape.empty() || type.shape.back() != to.bits / from)
      return;
    type.shape.pop_back();
  }
  program.add(type, "stablehlo.bitcast_convert " + x.name + " : " +
                        signature({x.type}, {type}));
}

void reducePrecision(Program &program) {
  Value x = anyOf(program, isReal);
  program.add(
      x.type,
      "stablehlo.reduce_precision " + x.name + ", format = e" +
          std::to_string(program.random.between(2, x.type.element->exponent)) +
          "m" +
          std::to_string(program.random.between(1, x.type.element->digits)) +
          " : " + x.type.text());
}

} // namespace

std::vector<Emitter> tenon::random::elementwiseEmitters() {
  return {realFunction,
          realFunction,
          realFunction,
          integerFunction,
          pair,
          pair,
          pair,
          pair,
          compare,
          select,
          complexFunction,
          isFinite,
          chloPair,
          clamp,
          convert,
          convert,
          bitcast,
          reducePrecision};
}
