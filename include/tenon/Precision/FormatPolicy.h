//===- FormatPolicy.h - What the user says of formats ---------------------===//
//
// A policy file is a JSON object; every entry leads to "f32" or to the 16-bit
// format that the policy lowers to, here "bf16":
//
//     {"arguments":  {"params.head.kernel": "f32"},
//      "results":    {"loss": "f32"},
//      "operations": {"stablehlo.exponential": "f32"},
//      "locations":  {"*attention*": "f32"}}
//
// "f32" keeps what is named as it is: of an argument what products read of it,
// of a result or an operation what it computes and, of a product, how it
// multiplies. "bf16" or "f16" permits 16 bits against the rules of the
// operations. Where several entries name one thing, f32 wins. Patterns may hold
// * and ?; one that matches nothing is an error, since it says something its
// writer did not mean.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_FORMATPOLICY_H
#define TENON_PRECISION_FORMATPOLICY_H

#include "tenon/Precision/NarrowFormat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/GlobPattern.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenon::precision {

/// What a policy says of something.
enum class Wish { none, f32, narrow };

class FormatPolicy {
public:
  /// Nothing, with `error` filled in, if `text` is no policy for what is
  /// lowered to `narrow`. `file` is how messages call it. An empty text says
  /// nothing of anything.
  static std::optional<FormatPolicy> parse(llvm::StringRef text,
                                           llvm::StringRef file,
                                           NarrowFormat narrow,
                                           std::string &error);

  Wish ofArgument(llvm::StringRef name) {
    return find(Subject::argument, name);
  }
  /// What is said of the operation's kind, its place, or, if it computes one,
  /// a result.
  Wish of(mlir::Operation *op);

  /// A pattern that has matched nothing that was asked for, as messages name
  /// it; empty if there is none.
  std::string unmatched() const;

private:
  enum Subject { argument, result, operation, location };
  static constexpr std::array<llvm::StringLiteral, 4> subjectNames = {
      "arguments", "results", "operations", "locations"};
  struct Entry {
    Subject subject;
    std::shared_ptr<const std::string> text; // which the pattern refers to
    llvm::GlobPattern pattern;
    Wish wish;
    bool hasMatched = false;
  };

  Wish find(Subject subject, llvm::StringRef name);

  std::vector<Entry> entries;
};

} // namespace tenon::precision

#endif // TENON_PRECISION_FORMATPOLICY_H
