//===- Executor.cpp - Runs a compiled step --------------------------------===//
//
// What an executor knows of its step. Loading, moving tensors and running are
// in files of their own.
//
//===----------------------------------------------------------------------===//

#include "ExecutorImplementation.h"

using namespace tenon;
using namespace tenon::runtime;

Executor::Executor(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}

Executor::~Executor() = default;

const format::Index &Executor::index() const { return implementation->index; }

unsigned Executor::threads() const { return implementation->options.threads; }

Processes *Executor::processes() const {
  return implementation->options.processes.get();
}

uint64_t Executor::receivedBytes() const {
  return implementation->receivedBytes;
}

std::string Executor::whyNotBinary() const {
  return implementation->first().device->whyNotBinary();
}

bool Executor::isEmulated() const {
  return implementation->first().device->isEmulated();
}

AlgorithmChoices Executor::algorithmChoices() const {
  return implementation->first().device->algorithmChoices();
}

std::optional<size_t> Executor::findTensor(std::string_view name) const {
  auto found = implementation->byName.find(name);
  return found == implementation->byName.end() ? std::nullopt
                                               : std::optional(found->second);
}

std::optional<size_t> Executor::findArgument(int32_t argument) const {
  const auto &tensors = index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (argument >= 0 && tensors[i].argument == argument)
      return i;
  return std::nullopt;
}

std::optional<size_t> Executor::findResult(int32_t result) const {
  const auto &tensors = index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (result >= 0 && tensors[i].result == result)
      return i;
  return std::nullopt;
}

bool Executor::isState(size_t tensor) const {
  return implementation->isState(tensor);
}

bool Executor::isBatch(size_t tensor, std::string_view entryPoint) const {
  const format::Tensor &described = index().tensors[tensor];
  if (entryPoint == "step")
    return described.argument >= 0 && !isState(tensor);
  return described.entryPoint == entryPoint &&
         index().segmentOf(described).kind == format::SegmentKind::batch;
}

std::vector<size_t> Executor::resultsOf(std::string_view entryPoint) const {
  std::vector<size_t> results;
  const auto &tensors = index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (entryPoint == "step"
            ? tensors[i].result >= 0 && !isState(i)
            : tensors[i].entryPoint == entryPoint && !isBatch(i, entryPoint))
      results.push_back(i);
  return results;
}
