//===- AttentionCase.h - Attention and its gradient as kernels ------------===//
//
// The kernels `@kernel` of one case of attention, whose tensors have any order
// of dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_CODEGEN_ATTENTIONCASE_H
#define TENON_TEST_UNIT_CODEGEN_ATTENTIONCASE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// What the dimensions of a tensor run over, as the operation's text has it:
/// `0, q, 1, d`.
struct NamedDimensions {
  std::string names;
  std::vector<char> dims;
  std::vector<int64_t> extents;

  NamedDimensions() = default;
  NamedDimensions(const std::string &names,
                  const std::map<char, int64_t> &extentOf);
  std::string shape() const;
  std::string text(const std::string &type) const {
    return "tensor<" + shape() + "x" + type + ">";
  }
  size_t at(const std::map<char, int64_t> &index) const;
  size_t count() const;
};

/// Operands and results of the tensors' type, and what is done with them.
struct AttentionCase {
  std::map<char, int64_t> extents; // of 0, 1 (batch), q, k, d, v
  std::string query = "0, q, 1, d", key = "0, k, 1, d", value = "0, k, 1, v",
              output = "0, q, 1, v";
  bool causal = false;
  std::string bias = {}, mask = {}, factor = {}, rounding = {};
  std::string type = "bf16", resultType = "f32";
  double scale = 0.25, fill = -1e30;

  NamedDimensions named(const std::string &names) const {
    return {names, extents};
  }
  NamedDimensions statistics() const { return named("0, 1, q"); }
  /// Those of the gradient in their order, with the types of their elements.
  std::vector<std::pair<NamedDimensions, std::string>> operands() const;

  std::string text() const; // of attention, with all its results
  std::string gradientText() const;

private:
  /// The operands that both have, and their dimensions.
  std::string scored(size_t &next) const;
  std::string attributes() const;
};

std::map<char, int64_t> extentsOf(int64_t batch, int64_t heads, int64_t queries,
                                  int64_t keys, int64_t features,
                                  int64_t valueFeatures);

#endif // TENON_TEST_UNIT_CODEGEN_ATTENTIONCASE_H
