//===- ControlOperations.cpp - Random loops, branches and bits -----------===//
//
// Counted loops over exact arithmetic, branches chosen by data, generators of
// random bits.
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

using namespace tenon::random;

namespace {

/// Operations of two operands that round at most once.
std::string exactPair(Program &program, const Element &element) {
  static const std::vector<std::string> ofReals = {
      "stablehlo.add", "stablehlo.multiply", "stablehlo.subtract",
      "stablehlo.maximum", "stablehlo.divide"};
  if (isReal(element))
    return program.random.oneOf(ofReals);
  return combiner(program, element, true);
}

void loop(Program &program) {
  Value x = anyOf(
      program, [](const Element &e) { return e.kind != Class::complex; }, 0,
      200);
  const Element &index =
      elementNamed(program.random.chance(50) ? "i32" : "i64");
  Type counter{{}, &index};
  Value from = program.integers(counter, 0, 0);
  Value captured = program.of(x.type);
  std::string i = program.local(), v = program.local(), last = program.local(),
              less = program.local(), one = program.local(),
              next = program.local(), w = program.local();
  std::string s = counter.text(), t = x.type.text();
  int64_t trips = program.random.between(0, 5);
  std::string text =
      "stablehlo.while(" + i + " = " + from.name + ", " + v + " = " + x.name +
      ") : " + s + ", " + t + "\n  cond {\n    " + last +
      " = stablehlo.constant dense<" + std::to_string(trips) + "> : " + s +
      "\n    " + less + " = stablehlo.compare LT, " + i + ", " + last +
      ", SIGNED : (" + s + ", " + s + ") -> tensor<i1>\n    stablehlo.return " +
      less + " : tensor<i1>\n  } do {\n    " + one +
      " = stablehlo.constant dense<1> : " + s + "\n    " + next +
      " = stablehlo.add " + i + ", " + one + " : " + s + "\n    " + w + " = " +
      exactPair(program, *x.type.element) + " " + v + ", " + captured.name +
      " : " + t + "\n    stablehlo.return " + next + ", " + w + " : " + s +
      ", " + t + "\n  }";
  program.add({counter, x.type}, text);
}

void branch(Program &program) {
  Value x = anyOf(
      program, [](const Element &e) { return e.kind != Class::complex; }, 0,
      200);
  Value y = program.of(x.type);
  bool two = program.random.chance(40);
  int64_t branches = two ? 2 : program.random.between(1, 4);
  Value index =
      two ? program.of({{}, &elementNamed("i1")})
          : program.integers({{}, &elementNamed("i32")}, -1, branches + 1);
  std::string text =
      (two ? "\"stablehlo.if\"(" : "\"stablehlo.case\"(") + index.name + ") (";
  for (int64_t i = 0; i < branches; ++i) {
    std::string z = program.local();
    text += (i ? ", {\n    " : "{\n    ") + z + " = " +
            exactPair(program, *x.type.element) + " " + x.name + ", " + y.name +
            " : " + x.type.text() + "\n    stablehlo.return " + z + " : " +
            x.type.text() + "\n  }";
  }
  program.add(x.type, text + ") : " + signature({index.type}, {x.type}));
}

void bits(Program &program) {
  static const std::vector<std::string> algorithms = {"DEFAULT", "PHILOX",
                                                      "THREE_FRY"};
  const std::string &algorithm = program.random.oneOf(algorithms);
  Type state{{algorithm == "THREE_FRY" ? 2 : program.random.between(2, 3)},
             &elementNamed("ui64")};
  Type type{program.shape(), &program.element([](const Element &e) {
              return e.kind == Class::unsignedInteger;
            })};
  Value x = program.input(state, Style::wild);
  program.add({state, type}, "stablehlo.rng_bit_generator " + x.name +
                                 ", algorithm = " + algorithm + " : " +
                                 signature({state}, {state, type}));
}

} // namespace

std::vector<Emitter> tenon::random::controlEmitters() {
  return {loop, branch, bits};
}
