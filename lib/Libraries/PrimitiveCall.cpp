//===- PrimitiveCall.cpp - A call as phases of primitives -----------------===//
//
// Binding and running primitives.
//
//===----------------------------------------------------------------------===//

#include "PrimitiveCall.h"

#include "tenon/Support/Refuse.h"

#include <new>

using namespace tenon;
using namespace tenon::libraries;

BoundCall::~BoundCall() = default;
Call::~Call() = default;

namespace tenon::libraries {

/// Has its own memory objects, because those carry the addresses.
class BoundPrimitiveCall final : public BoundCall {
public:
  explicit BoundPrimitiveCall(const PrimitiveCall &call)
      : stream(call.engine.stream) {
    for (const Phase &phase : call.work) {
      auto &boundPhase = phases.emplace_back();
      for (const Task &task : phase) {
        auto &boundTask = boundPhase.emplace_back();
        for (const Step &step : task) {
          BoundStep &bound = boundTask.emplace_back();
          bound.step = &step;
          for (const Operand &operand : step.operands) {
            bound.pointers.push_back(nullptr);
            if (!step.primitive)
              continue;
            Memory memory;
            if (dnnl_status_t made = oneDNN.dnnl_memory_create(
                    memory.out(), &operand.memory, call.engine.engine, nullptr);
                made != dnnl_success)
              status = made;
            bound.arguments.push_back({operand.name, memory.get()});
            bound.memories.push_back(std::move(memory));
          }
        }
      }
    }
  }

  void bind(std::span<void *const> arguments) override {
    status = dnnl_success;
    for (auto &phase : phases)
      for (auto &task : phase)
        for (BoundStep &bound : task)
          for (size_t i = 0; i < bound.pointers.size(); ++i) {
            const Operand &operand = bound.step->operands[i];
            bound.pointers[i] =
                static_cast<char *>(arguments[operand.argument]) +
                operand.offset;
            if (!bound.step->primitive)
              continue;
            if (dnnl_status_t set = oneDNN.dnnl_memory_set_data_handle(
                    bound.memories[i].get(), bound.pointers[i]);
                set != dnnl_success)
              status = set;
          }
  }

  int run(int64_t phase, int64_t task) const override {
    if (status != dnnl_success)
      return status;
    for (const BoundStep &bound : phases[phase][task]) {
      if (!bound.step->primitive) {
        bound.step->function(bound.pointers);
        continue;
      }
      dnnl_status_t executed = execute(bound);
      if (executed != dnnl_success)
        return executed;
    }
    return dnnl_success;
  }

  /// What failed while it was made or bound.
  dnnl_status_t status = dnnl_success;

private:
  struct BoundStep {
    const Step *step = nullptr;
    std::vector<void *> pointers;
    std::vector<Memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
  };

  /// Some of oneDNN's functions let exceptions out where memory ends. Above are
  /// threads that wait for this one, so they must not go further.
  dnnl_status_t execute(const BoundStep &bound) const {
    try {
      return oneDNN.dnnl_primitive_execute(bound.step->primitive->get(), stream,
                                           int(bound.arguments.size()),
                                           bound.arguments.data());
    } catch (const std::bad_alloc &) {
      return dnnl_out_of_memory;
    } catch (...) {
      return dnnl_runtime_error;
    }
  }

  dnnl_stream_t stream;
  std::vector<std::vector<std::vector<BoundStep>>> phases;
};

} // namespace tenon::libraries

std::unique_ptr<BoundCall> PrimitiveCall::newBinding(std::string &error) const {
  auto bound = std::make_unique<BoundPrimitiveCall>(*this);
  if (bound->status == dnnl_success)
    return bound;
  return refuse(error, statusText(bound->status));
}

Step PrimitiveCall::makeStep(const PrimitiveDescription &description,
                             std::shared_ptr<Primitive> primitive,
                             std::vector<Operand> operands, Shared *scratch) {
  Step step;
  step.primitive = std::move(primitive);
  step.operands = std::move(operands);
  if (int64_t bytes = scratchpadBytes(description))
    step.operands.push_back({DNNL_ARG_SCRATCHPAD,
                             memoryOf(description, dnnl_query_scratchpad_md),
                             workspaceArgument(), reserve(bytes, scratch)});
  return step;
}

std::shared_ptr<Primitive>
tenon::libraries::createPrimitive(const PrimitiveDescription &description) {
  auto primitive = std::make_shared<Primitive>();
  if (oneDNN.dnnl_primitive_create(primitive->out(), description.get()) !=
      dnnl_success)
    return nullptr;
  return primitive;
}
