//===- Numpy.h - Reads arrays that numpy saved ----------------------------===//
//
// `.npy` is a header, the text of a Python dictionary with type, order and
// shape, and the elements; `.npz` is a ZIP archive of such files, which
// numpy.savez writes without compression. The reader trusts nothing: ranges
// must lie in the file and agree with type and shape.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_NUMPY_H
#define TENON_FORMAT_NUMPY_H

#include "tenon/Format/TensorFile.h"

namespace tenon::format {

class NumpyReader final : public TensorFile {
public:
  /// Null with a message in `error` if there is no such file, it is damaged,
  /// compressed, or holds an array whose elements are not in the order of C.
  /// `arrayName` as for TensorFile::open.
  static std::unique_ptr<NumpyReader> open(const std::string &path,
                                           std::string &error,
                                           const std::string &arrayName = "");

private:
  NumpyReader() = default;
  bool loadArchive(std::string &error);
  /// The array in a range of the file.
  bool loadArray(const std::string &name, uint64_t begin, uint64_t end,
                 std::string &error);
};

} // namespace tenon::format

#endif // TENON_FORMAT_NUMPY_H
