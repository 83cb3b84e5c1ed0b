//===- Evaluation.cpp - Means of an entry point over batches --------------===//
//
// See Evaluation.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Evaluation.h"

#include "tenon/Runtime/Scalars.h"
#include "tenon/Support/ParseNumber.h"

#include <algorithm>
#include <cstdio>
#include <limits>

using namespace tenon;
using namespace tenon::tool;

std::unique_ptr<Evaluation> Evaluation::open(const BatchOptions &options,
                                             runtime::Executor &executor,
                                             std::string &error) {
  std::unique_ptr<Evaluation> evaluation(
      new Evaluation(executor, options.entryPoint));
  const format::Index &index = executor.index();
  if (!index.findEntryPoint(options.entryPoint))
    return refuse(error, "the file has no entry point '" + options.entryPoint +
                             "'; compile it with --entry " +
                             options.entryPoint + "=FILE.mlir");
  for (size_t tensor : executor.resultsOf(options.entryPoint))
    if (index.tensors[tensor].shape.empty() &&
        runtime::takesFraction(index.tensors[tensor].type))
      evaluation->results.push_back(tensor);
  if (evaluation->results.empty())
    return refuse(error, "entry point '" + options.entryPoint +
                             "' has no floating scalar result to average");
  evaluation->batches = Batches::open(options, executor, error);
  if (!evaluation->batches)
    return nullptr;
  const std::vector<size_t> &given = evaluation->batches->given();
  for (size_t i = 0; i < index.tensors.size(); ++i)
    if (executor.isBatch(i, options.entryPoint) &&
        std::ranges::find(given, i) == given.end())
      return refuse(error, "'" + options.path + "' gives no '" +
                               index.tensors[i].name +
                               "', which the entry point takes");
  return evaluation;
}

std::vector<std::string> Evaluation::names() const {
  std::vector<std::string> names;
  for (size_t result : results)
    names.push_back(executor.index().tensors[result].name);
  return names;
}

bool Evaluation::run(std::string &error) {
  std::vector<double> sums(results.size());
  double rows = 0;
  for (int64_t batch = 0; batch < batches->perEpoch(); ++batch) {
    runtime::Error why;
    if (!batches->load(executor, batch, error))
      return false;
    if (!executor.run(1, why, entryPoint))
      return refuse(error, why.message);
    auto weight = double(batches->rowsPerBatch());
    for (size_t i = 0; i < results.size(); ++i) {
      auto text = runtime::valueText(executor, results[i], why);
      if (!text)
        return refuse(error, why.message);
      sums[i] += weight * parseNumber<double>(*text).value_or(
                              std::numeric_limits<double>::quiet_NaN());
    }
    rows += weight;
  }
  values.clear();
  for (size_t i = 0; i < results.size(); ++i)
    values.emplace_back(executor.index().tensors[results[i]].name,
                        sums[i] / rows);
  return true;
}

std::string Evaluation::text() const {
  std::string line;
  for (const auto &[name, value] : values) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.9g", value);
    line += (line.empty() ? "" : ", ") + name + " " + number;
  }
  return line;
}

BestRule BestRule::parse(std::string_view text) {
  constexpr std::string_view greatest = ":max";
  BestRule rule{std::string(text), text.ends_with(greatest)};
  if (rule.isGreatest)
    rule.name.resize(rule.name.size() - greatest.size());
  return rule;
}
