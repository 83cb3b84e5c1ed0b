//===- CudaHostCalls.h - Library calls that the host of a GPU runs --------===//
//
// Private to this folder. What only a library of processors computes is done by
// the host, in the middle of a graph:
//
//   copy, copy     the operands, from the GPU to pinned memory
//   host function  the call
//   copy, copy     the results, to the GPU
//
// All of it is work of the one stream, so no two calls run at the same time,
// and all calls of a file share one piece of pinned memory, which has the
// arguments and the workspace of the largest.
//
// A host function can neither fail nor end the step. So what a library refuses
// is noted, calls behind that do nothing, and whoever has waited for the stream
// asks.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUDAHOSTCALLS_H
#define TENON_LIB_RUNTIME_CUDAHOSTCALLS_H

#include "CudaDriverTable.h"

#include "tenon/Format/Index.h"
#include "tenon/Libraries/Call.h"
#include "tenon/Runtime/Executor.h"
#include "tenon/Support/Subnormals.h"

#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace tenon::runtime {

class CudaContext;

/// One call, the same wherever it is invoked.
class CudaHostCall {
public:
  /// Bytes that are copied between the GPU and the host, to or from.
  struct Argument {
    std::byte *staged = nullptr; // in pinned memory
    size_t bytes = 0;
  };
  /// In their order, without the workspace.
  std::span<const Argument> operands() const {
    return std::span(arguments).first(operandCount);
  }
  std::span<const Argument> results() const {
    return std::span(arguments).subspan(operandCount);
  }
  const libraries::Call &call() const { return *made; }
  /// What CUDA is asked to run, with this as its data.
  static void run(void *call);

private:
  friend class CudaHostCalls;

  class CudaHostCalls *all = nullptr;
  size_t callee = 0; // in the file
  std::unique_ptr<libraries::Call> made;
  std::unique_ptr<libraries::BoundCall> bound;
  std::vector<Argument> arguments;
  size_t operandCount = 0;
};

/// Those of a file. They outlive the graphs that they are in.
class CudaHostCalls {
public:
  CudaHostCalls(std::shared_ptr<CudaContext> context, Subnormals subnormals)
      : context(std::move(context)), subnormals(subnormals) {}
  ~CudaHostCalls();
  CudaHostCalls(const CudaHostCalls &) = delete;
  CudaHostCalls &operator=(const CudaHostCalls &) = delete;

  /// Makes the call of the file's callee `number`; null with `error` filled in
  /// if the library is not here. It stays here.
  CudaHostCall *add(const format::Callee &callee, size_t number, Error &error);
  /// Gives all of them memory. False with `error` filled in if there is none.
  bool allocate(Error &error);

  bool isEmpty() const { return calls.empty(); }

  /// What a library refused, since this was last asked.
  struct Refused {
    size_t callee = 0;
    std::string said;
  };
  /// Asked when nothing is under way.
  std::optional<Refused> takeRefused();
  /// Whether a library has refused a call.
  bool haveRefused() const { return refused != nullptr; }

private:
  friend class CudaHostCall;

  std::shared_ptr<CudaContext> context;
  const Subnormals subnormals;
  std::deque<CudaHostCall> calls;
  std::byte *pinned = nullptr;
  // Written by a thread of the driver's, and read by others behind it.
  std::atomic<const CudaHostCall *> refused = nullptr;
  int status = 0; // what its library returned
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUDAHOSTCALLS_H
