//===- NormWatch.cpp - How large parameters and their updates are ---------===//
//
// See NormWatch.h. Squares are added in f64, in the order of the elements.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/NormWatch.h"

#include "tenon/Runtime/Scalars.h"
#include "tenon/Support/Bytes.h"

#include <algorithm>
#include <cmath>
#include <new>

using namespace tenon;
using namespace tenon::tool;

static constexpr const char *parameterName = "parameter_norm",
                            *updateName = "update_norm";

std::unique_ptr<NormWatch> NormWatch::open(const runtime::Executor &executor,
                                           std::string &error) {
  std::unique_ptr<NormWatch> watch(new NormWatch(executor));
  const format::Index &index = executor.index();
  uint64_t bytes = 0, largest = 0;
  for (size_t i = 0; i < index.visibleTensors(); ++i) {
    const format::Tensor &tensor = index.tensors[i];
    if (!executor.isState(i) || tensor.role != format::Role::parameter ||
        !runtime::takesFraction(tensor.type))
      continue;
    watch->parameters.push_back({.tensor = i, .before = {}});
    bytes += format::bytesOf(tensor);
    largest = std::max(largest, format::bytesOf(tensor));
  }
  if (watch->parameters.empty())
    return refuse(error, "--norms-every and --norms-steps are about "
                         "parameters, and the step has none that are floats");
  try {
    for (Parameter &parameter : watch->parameters)
      parameter.before.resize(format::bytesOf(index.tensors[parameter.tensor]));
    watch->after.resize(largest);
  } catch (const std::bad_alloc &) {
    return refuse(error, "not enough memory for norms, which take a copy of "
                         "the parameters of " +
                             printBytes(int64_t(bytes + largest)));
  }
  return watch;
}

std::vector<std::string> NormWatch::names() const {
  std::vector<std::string> names{parameterName, updateName};
  for (const Parameter &parameter : parameters)
    for (const char *kind : {parameterName, updateName})
      names.push_back(std::string(kind) + "." +
                      executor.index().tensors[parameter.tensor].name);
  return names;
}

bool NormWatch::beginStep(runtime::Error &error) {
  return std::ranges::all_of(parameters, [&](Parameter &parameter) {
    return executor.read(parameter.tensor, parameter.before, error);
  });
}

bool NormWatch::endStep(runtime::Error &error) {
  std::vector<double> each;
  double ofAll = 0, ofChanges = 0;
  for (const Parameter &parameter : parameters) {
    ElementType type = executor.index().tensors[parameter.tensor].type;
    std::span<const std::byte> before = parameter.before;
    std::span<std::byte> now(after.data(), before.size());
    if (!executor.read(parameter.tensor, now, error))
      return false;
    double sum = 0, changes = 0;
    const size_t width = size_t(byteWidth(type));
    for (size_t at = 0; at < now.size(); at += width) {
      double value = runtime::readScalar(type, now.subspan(at)),
             change = value - runtime::readScalar(type, before.subspan(at));
      sum += value * value;
      changes += change * change;
    }
    ofAll += sum;
    ofChanges += changes;
    each.push_back(std::sqrt(sum));
    each.push_back(std::sqrt(changes));
  }
  norms = {std::sqrt(ofAll), std::sqrt(ofChanges)};
  norms.insert(norms.end(), each.begin(), each.end());
  return true;
}
