//===- Operations.cpp - What random programs are made of -----------------===//
//
// The joined list of emitters, and what several of them need.
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

using namespace tenon::random;

const std::vector<Emitter> &tenon::random::emitters(Subject subject) {
  static const std::vector<Emitter> attention = attentionEmitters();
  static const std::vector<Emitter> all = [] {
    std::vector<Emitter> all;
    for (const std::vector<Emitter> &part :
         {elementwiseEmitters(), shapeEmitters(), reductionEmitters(),
          contractionEmitters(), indexingEmitters(), controlEmitters()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return subject == Subject::attention ? attention : all;
}

bool tenon::random::isReal(const Element &element) {
  return element.kind == Class::real;
}

bool tenon::random::isNumber(const Element &element) {
  return element.isInteger() || isReal(element);
}

Value tenon::random::anyOf(Program &program,
                           const std::function<bool(const Element &)> &fits,
                           int64_t minRank, int64_t most) {
  return program.any(
      [&](const Type &type) {
        return fits(*type.element) && type.rank() >= minRank &&
               type.size() <= most;
      },
      [&] { return Type{program.shape(minRank), &program.element(fits)}; });
}

Value tenon::random::anyValue(Program &program, int64_t minRank, int64_t most) {
  return anyOf(program, [](const Element &) { return true; }, minRank, most);
}

std::string tenon::random::list(const Shape &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

std::string tenon::random::array(const Shape &values) {
  std::string text = "array<i64";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : ": ") + std::to_string(values[i]);
  return text + ">";
}

static std::string types(const std::vector<Type> &types) {
  std::string text;
  for (const Type &type : types)
    text += (text.empty() ? "" : ", ") + type.text();
  return "(" + text + ")";
}

std::string tenon::random::signature(const std::vector<Type> &operands,
                                     const std::vector<Type> &results) {
  return types(operands) + " -> " +
         (results.size() == 1 ? results.front().text() : types(results));
}

std::string tenon::random::combiner(Program &program, const Element &element,
                                    bool exact) {
  std::vector<std::string> names;
  if (element.kind == Class::complex)
    return "stablehlo.add";
  if (isReal(element) && !exact)
    return program.random.chance(80) ? "stablehlo.add" : "stablehlo.multiply";
  names = {"stablehlo.maximum", "stablehlo.minimum"};
  if (!isReal(element))
    names.insert(names.end(), {"stablehlo.and", "stablehlo.or", "stablehlo.xor",
                               "stablehlo.add", "stablehlo.multiply"});
  return program.random.oneOf(names);
}

std::string tenon::random::region(Program &program, const Element &element,
                                  const std::string &operation) {
  std::string type = Type{{}, &element}.text();
  std::string x = program.local(), y = program.local(), z = program.local();
  return "({\n    ^bb0(" + x + ": " + type + ", " + y + ": " + type +
         "):\n      " + z + " = " + operation + " " + x + ", " + y + " : " +
         type + "\n      stablehlo.return " + z + " : " + type + "\n  })";
}
