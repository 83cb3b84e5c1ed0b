//===- SharedLibrary.h - A vendor's library, opened when it is called -----===//
//
// Private to this folder. Nothing of ours is linked with a vendor's library: it
// is opened when a program first calls it, and a program that does not runs
// where it is missing. Its functions are members of a struct; their types come
// from the vendor's header where there is one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_SHAREDLIBRARY_H
#define TENON_LIB_LIBRARIES_SHAREDLIBRARY_H

#include <string>

namespace tenon::libraries {

class SharedLibrary {
public:
  /// Opens `file`, for as long as the process lives. Of the Debian package
  /// `package`, which a message names.
  SharedLibrary(const std::string &file, const std::string &package);

  /// Sets `function` to what the library has under the name.
  template <typename Function>
  void find(const std::string &name, Function *&function) {
    function = reinterpret_cast<Function *>(find(name));
  }

  /// Empty if the library is here and has all that was looked for, otherwise
  /// what is missing and how to install it.
  const std::string &whyNot() const { return error; }

private:
  void *find(const std::string &name);

  std::string package, error;
  void *handle;
};

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_SHAREDLIBRARY_H
