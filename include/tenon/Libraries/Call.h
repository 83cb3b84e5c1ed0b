//===- Call.h - A described library call, ready to run -------------------===//
//
// What the runtime makes of a description when it loads a program. A call is
// cut into single-threaded tasks in one or more phases; the tasks of a phase
// are independent, phases follow each other with a barrier between. Which tasks
// there are depends on the description alone, so the bits of the result do not
// depend on how many threads share them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_CALL_H
#define TENON_LIBRARIES_CALL_H

#include "tenon/Libraries/Description.h"
#include "tenon/Target/InstructionSets.h"

#include <memory>
#include <span>
#include <string>

namespace tenon::libraries {

using target::Isa;

/// A call bound to memory. Two bindings of one call may run at the same time.
class BoundCall {
public:
  virtual ~BoundCall();

  /// Sets where the arguments are: operands, the bias if any, the result, the
  /// workspace if any. Not while tasks are running.
  virtual void bind(std::span<void *const> arguments) = 0;

  /// Runs one task on the calling thread. 0, or the library's status if it
  /// failed, which Call::statusText() puts into words.
  virtual int run(int64_t phase, int64_t task) const = 0;
};

class Call {
public:
  /// Null with a message in `error` if the library does not run the call on
  /// instruction set `isa` on this machine.
  static std::unique_ptr<Call> create(const Description &description, Isa isa,
                                      std::string &error);
  virtual ~Call();

  /// How many pointers BoundCall::bind takes, the workspace included.
  virtual int64_t argumentCount() const = 0;
  /// How many of them, the first ones, the call only reads.
  virtual int64_t operandCount() const = 0;
  /// Bytes of argument `index`, from its first to past its last element.
  virtual int64_t argumentBytes(int64_t index) const = 0;
  virtual int64_t workspaceBytes() const = 0;

  virtual int64_t phases() const = 0;
  virtual int64_t tasks(int64_t phase) const = 0;

  /// Null with a message in `error` if the library has no memory for it.
  virtual std::unique_ptr<BoundCall> newBinding(std::string &error) const = 0;

  /// What the library said, for messages: "oneDNN: out of memory".
  virtual std::string statusText(int status) const = 0;

  /// Which code the library chose, for people (`brg:avx512_core`).
  virtual std::string implementation() const = 0;
};

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_CALL_H
