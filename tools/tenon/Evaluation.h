//===- Evaluation.h - Means of an entry point over batches ----------------===//
//
// `tenon run --eval-every`: runs an entry point that reads the state, such as
// `eval`, on batches of its own, and averages each of its scalar results.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_EVALUATION_H
#define TENON_TOOLS_TENON_EVALUATION_H

#include "tools/tenon/Batches.h"

#include <string>
#include <utility>
#include <vector>

namespace tenon::tool {

class Evaluation {
public:
  /// Opens the batches of options.entryPoint. Null with a message in `error` if
  /// the program has no such entry point, it has no floating scalar result, or
  /// the batches leave an input without a value.
  static std::unique_ptr<Evaluation> open(const BatchOptions &options,
                                          runtime::Executor &executor,
                                          std::string &error);

  /// The names of the results that have means.
  std::vector<std::string> names() const;
  /// Runs all batches once. False with a message in `error` if one cannot be
  /// read or run.
  bool run(std::string &error);

  /// By the names of the results: the sum over all batches of the value times
  /// the rows of the batch, by the rows of all of them. Rows that fill no batch
  /// are left out.
  const std::vector<std::pair<std::string, double>> &means() const {
    return values;
  }
  /// "eval.loss 0.25, eval.accuracy 0.5".
  std::string text() const;

private:
  Evaluation(runtime::Executor &executor, std::string entryPoint)
      : executor(executor), entryPoint(std::move(entryPoint)) {}

  runtime::Executor &executor;
  std::string entryPoint;
  std::unique_ptr<Batches> batches;
  std::vector<size_t> results;
  std::vector<std::pair<std::string, double>> values;
};

/// Which checkpoint `--keep-best` keeps: that with the least mean of a result,
/// or with `:max` behind its name, the greatest.
struct BestRule {
  std::string name; // of the result; empty for none
  bool isGreatest = false;

  /// Reads `eval.loss` or `eval.accuracy:max`.
  static BestRule parse(std::string_view text);
  std::string text() const { return name + (isGreatest ? ":max" : ""); }
  /// What is no number is no better than anything.
  bool isBetter(double value, double than) const {
    return isGreatest ? value > than : value < than;
  }
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_EVALUATION_H
