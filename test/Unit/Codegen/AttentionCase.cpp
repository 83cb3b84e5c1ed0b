//===- AttentionCase.cpp - Attention and its gradient as kernels ----------===//
//
// See AttentionCase.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionCase.h"

NamedDimensions::NamedDimensions(const std::string &names,
                                 const std::map<char, int64_t> &extentOf)
    : names(names) {
  for (char name : names)
    if (auto known = extentOf.find(name); known != extentOf.end()) {
      dims.push_back(name);
      extents.push_back(known->second);
    }
}

std::string NamedDimensions::shape() const {
  std::string text;
  for (int64_t extent : extents)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

size_t NamedDimensions::at(const std::map<char, int64_t> &index) const {
  int64_t place = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    place = place * extents[i] + index.at(dims[i]);
  return size_t(place);
}

size_t NamedDimensions::count() const {
  size_t elements = 1;
  for (int64_t extent : extents)
    elements *= size_t(extent);
  return elements;
}

std::vector<std::pair<NamedDimensions, std::string>>
AttentionCase::operands() const {
  std::vector<std::pair<NamedDimensions, std::string>> all = {
      {named(query), type}, {named(key), type}, {named(value), type}};
  if (!bias.empty())
    all.emplace_back(named(bias), "f32");
  if (!mask.empty())
    all.emplace_back(named(mask), "i1");
  if (!factor.empty())
    all.emplace_back(named(factor), "f32");
  all.emplace_back(statistics(), "f32");
  all.emplace_back(statistics(), "f32");
  all.emplace_back(named(output), type);
  return all;
}

static std::string operandName(size_t i) { return "%x" + std::to_string(i); }

std::string AttentionCase::scored(size_t &next) const {
  auto operand = [&](const std::string &dims) {
    return operandName(next++) + "[" + dims + "]";
  };
  std::string text = operand(query);
  text += ", " + operand(key);
  text += ", " + operand(value);
  if (!bias.empty())
    text += " bias " + operand(bias);
  if (!mask.empty())
    text += " mask " + operand(mask);
  if (!factor.empty())
    text += " factor " + operand(factor);
  return text;
}

std::string AttentionCase::attributes() const {
  return std::string(" {") + (causal ? "causal, " : "") +
         (mask.empty() ? "" : "fill = " + std::to_string(fill) + " : f32, ") +
         rounding + "scale = " + std::to_string(scale) + " : f32}";
}

/// The function's arguments, and their types: the first `count` operands.
static std::pair<std::string, std::string> signatureOf(
    const std::vector<std::pair<NamedDimensions, std::string>> &operands,
    size_t count) {
  std::string arguments, types;
  for (size_t i = 0; i < count; ++i) {
    std::string separator = i ? ", " : "",
                tensor = operands[i].first.text(operands[i].second);
    arguments += separator + operandName(i) + ": " + tensor;
    types += separator + tensor;
  }
  return {arguments, types};
}

std::string AttentionCase::text() const {
  size_t next = 0;
  std::string op = scored(next);
  auto [arguments, types] = signatureOf(operands(), next);
  std::string results = named(output).text(resultType) + ", " +
                        statistics().text("f32") + ", " +
                        statistics().text("f32");
  return "func.func private @kernel(" + arguments + ") -> (" + results +
         ") {\n  %a, %b, %c = step.attention " + op + " -> [" + output + "]" +
         attributes() + " : (" + types + ") -> (" + results +
         ")\n  return %a, %b, %c : " + results + "\n}";
}

std::string AttentionCase::gradientText() const {
  size_t next = 0;
  std::string op = scored(next);
  op += " of " + operandName(next) + ", " + operandName(next + 1) + ", " +
        operandName(next + 2) + "[" + output + "]";
  auto [arguments, types] = signatureOf(operands(), next + 3);
  std::string results;
  for (const std::string &of : {query, key, value})
    results += (results.empty() ? "" : ", ") + named(of).text(resultType);
  return "func.func private @kernel(" + arguments + ") -> (" + results +
         ") {\n  %a, %b, %c = step.attention_gradient " + op + " -> [" + query +
         "], [" + key + "], [" + value + "]" + attributes() + " : (" + types +
         ") -> (" + results + ")\n  return %a, %b, %c : " + results + "\n}";
}

std::map<char, int64_t> extentsOf(int64_t batch, int64_t heads, int64_t queries,
                                  int64_t keys, int64_t features,
                                  int64_t valueFeatures) {
  return {{'0', batch}, {'1', heads},    {'q', queries},
          {'k', keys},  {'d', features}, {'v', valueFeatures}};
}
