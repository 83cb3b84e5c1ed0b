//===- TemporaryFolder.h - A folder for one test --------------------------===//
//
// Made when the test starts, removed when it ends.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_FORMAT_TEMPORARYFOLDER_H
#define TENON_TEST_UNIT_FORMAT_TEMPORARYFOLDER_H

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tenon::test {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "tenon-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }

  std::string file(const char *name) const { return path / name; }
  size_t entries() const {
    return size_t(std::distance(std::filesystem::directory_iterator(path), {}));
  }

  std::filesystem::path path;
};

inline std::string readWhole(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void writeWhole(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

} // namespace tenon::test

#endif // TENON_TEST_UNIT_FORMAT_TEMPORARYFOLDER_H
