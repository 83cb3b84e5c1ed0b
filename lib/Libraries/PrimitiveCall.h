//===- PrimitiveCall.h - A call as phases of primitives -------------------===//
//
// Private to this folder: what Matmul.cpp and Convolution.cpp build. A phase is
// a list of tasks, a task a list of steps run one after the other on one
// thread, a step a oneDNN primitive or a plain function, each with the ranges
// of the call's arguments it works on.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_PRIMITIVECALL_H
#define TENON_LIB_LIBRARIES_PRIMITIVECALL_H

#include "OneDNN.h"

#include "tenon/Libraries/Call.h"

#include <functional>

namespace tenon::libraries {

/// Where a step finds one of its operands.
struct Operand {
  int name = 0; // DNNL_ARG_...
  dnnl_memory_desc_t memory{};
  int64_t argument = 0; // of the call
  int64_t offset = 0;   // bytes
};

struct Step {
  std::shared_ptr<Primitive> primitive; // null for a function
  std::vector<Operand> operands;
  /// Gets one pointer per operand.
  std::function<void(std::span<void *const>)> function;
};

using Task = std::vector<Step>;
using Phase = std::vector<Task>;

/// Workspace that steps of one task use in turn.
struct Shared {
  int64_t offset = 0, bytes = 0;
};

class PrimitiveCall final : public Call {
public:
  PrimitiveCall(const Engine &engine, std::vector<int64_t> argumentBytes)
      : engine(engine), bytes(std::move(argumentBytes)) {}

  int64_t argumentCount() const override {
    return int64_t(bytes.size()) + (workspace > 0);
  }
  int64_t operandCount() const override { return int64_t(bytes.size()) - 1; }
  int64_t argumentBytes(int64_t index) const override {
    return index < int64_t(bytes.size()) ? bytes[index] : workspace;
  }
  int64_t workspaceBytes() const override { return workspace; }
  int64_t phases() const override { return int64_t(work.size()); }
  int64_t tasks(int64_t phase) const override {
    return int64_t(work[phase].size());
  }
  std::unique_ptr<BoundCall> newBinding(std::string &error) const override;
  std::string statusText(int status) const override {
    return "oneDNN: " + statusName(dnnl_status_t(status));
  }
  std::string implementation() const override { return code; }

  /// The argument number of the workspace.
  int64_t workspaceArgument() const { return int64_t(bytes.size()); }
  /// Takes `size` bytes of workspace, or those of `shared` if it has enough,
  /// and returns their offset.
  int64_t reserve(int64_t size, Shared *shared = nullptr) {
    if (shared && shared->bytes >= size)
      return shared->offset;
    int64_t offset = workspace;
    workspace += alignTo64(size);
    if (shared)
      *shared = {offset, size};
    return offset;
  }
  /// A step of `primitive` whose scratch memory is reserved behind `operands`.
  Step makeStep(const PrimitiveDescription &description,
                std::shared_ptr<Primitive> primitive,
                std::vector<Operand> operands, Shared *scratch = nullptr);

  std::vector<Phase> work;
  std::string code;

private:
  friend class BoundPrimitiveCall;
  const Engine &engine;
  std::vector<int64_t> bytes;
  int64_t workspace = 0;
};

/// Creates the primitive; null if the library fails.
std::shared_ptr<Primitive>
createPrimitive(const PrimitiveDescription &description);

/// See Library.h, per kind of description.
int64_t preferredPieces(const MatmulDescription &description);
int64_t preferredPieces(const ConvolutionDescription &description);
std::unique_ptr<PrimitiveCall> createCall(const MatmulDescription &description,
                                          const Engine &engine, Isa isa,
                                          std::string &error);
std::unique_ptr<PrimitiveCall>
createCall(const PackedMatmulDescription &description, const Engine &engine,
           Isa isa, std::string &error);
std::unique_ptr<PrimitiveCall>
createCall(const ConvolutionDescription &description, const Engine &engine,
           Isa isa, std::string &error);

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_PRIMITIVECALL_H
