//===- Library.h - What the compiler asks of a vendor's library -----------===//
//
// Passes ask a library what it runs on an instruction set; nobody else knows
// which instruction set can do what. A library answers for any instruction set
// that this machine lets it use. Where it cannot be asked, the answer would be
// about this machine and not about the target, so the compiler refuses.
//
// A new library is a class of this kind in the list of Library.cpp, and a kind
// of Description if it runs something else than the present ones.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_LIBRARY_H
#define TENON_LIBRARIES_LIBRARY_H

#include "tenon/Libraries/Call.h"

namespace tenon::libraries {

class Library {
public:
  virtual ~Library();

  /// As files spell it.
  virtual std::string_view name() const = 0;
  /// Of what is on this machine, `2.6.3`; `none` if it is not there.
  virtual std::string version() const = 0;

  /// Whether it runs descriptions of this kind.
  virtual bool takes(const Description &description) const = 0;

  /// Whether its calls are work of a GPU. All others are a processor's, in
  /// steps for GPUs that of the host.
  virtual bool isOfGpus() const { return false; }

  /// Empty if it can be asked in this process what it does on `isa`, otherwise
  /// why not.
  virtual std::string whyNotAskable(Isa) const { return ""; }

  /// Into how many pieces it pays to cut the call: a function of the
  /// description alone (its own `pieces` is not looked at), never of the
  /// machine.
  virtual int64_t preferredPieces(const Description &) const { return 1; }

  /// Empty if it runs `description` on `isa`, otherwise why not.
  virtual std::string whyNotSupported(const Description &description,
                                      Isa isa) const;

  /// Null with a message in `error` if it does not run the valid `description`.
  virtual std::unique_ptr<Call> create(const Description &description, Isa isa,
                                       std::string &error) const = 0;
};

const Library &oneDNNLibrary();
const Library &lapackLibrary();
/// Needs no GPU to be asked; the instruction set says nothing about it.
const Library &cublasLtLibrary();

/// All of them; those from outside the tree come first.
std::span<const Library *const> all();

/// Adds a library from outside the tree for as long as it lives, before
/// anything compiles or runs.
class AddedLibrary {
public:
  explicit AddedLibrary(const Library &library);
  ~AddedLibrary();
  AddedLibrary(const AddedLibrary &) = delete;

private:
  const Library *library;
};

/// The one that runs calls of this kind.
const Library &libraryOf(const Description &description);

/// What libraryOf(description) says.
int64_t preferredPieces(const Description &description);
std::string whyNotSupported(const Description &description, Isa isa);

/// Bytes of scratch memory the call needs, 0 for none; the planner places them
/// at a multiple of 64 and passes them as the call's last argument. The library
/// is asked on this machine, capped to `isa`; -1 if it does not run the call.
int64_t workspaceBytes(const Description &description, Isa isa);

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_LIBRARY_H
