//===- Reader.h - Reads and checks .tenon files ---------------------------===//
//
// Opens a `.tenon` file from disk or memory. Nothing in it is trusted: lengths
// are checked against the file, hashes before what they cover is looked at, and
// every index, slice, type and nesting depth before the Index is handed out, so
// that code behind the reader needs no checks of its own. Sections are read
// into the caller's memory instead of being mapped: a file that is cut while it
// is in use is then an error, not a signal.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_READER_H
#define TENON_FORMAT_READER_H

#include "tenon/Format/Hash.h"
#include "tenon/Format/Index.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenon::format {

/// Longest index in bytes, deepest nesting of loops and conditionals, and
/// highest rank that a file may have.
inline constexpr uint64_t maxIndexBytes = uint64_t(1) << 30;
inline constexpr int maxProgramNesting = 64;
inline constexpr size_t maxRank = 32;

/// Empty if `index` is consistent (every reference in range, every tensor as
/// long as its shape says, nothing nested too deep), otherwise what is wrong.
/// The reader calls it; a producer may call it before writing.
std::string whyInvalid(const Index &index);

/// Whether a file begins as compiled files do, whatever its name is.
bool isCompiledFile(const std::string &path);

/// An opened file: the checked index, and sections on request.
class Reader {
public:
  /// Null with a message in `error` if there is no such file or it is damaged.
  static std::unique_ptr<Reader> open(const std::string &path,
                                      std::string &error);
  static std::unique_ptr<Reader> fromBytes(std::vector<std::byte> bytes,
                                           std::string &error);
  ~Reader();
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;

  const Index &index() const { return contents; }
  /// Of the index, which has the hashes of all sections: equal files have the
  /// same one.
  const Hash &indexHash() const { return hash; }

  /// The section of `kind`, null if the file has none.
  const Section *findSection(SectionKind kind) const;

  /// Reads `section` into `into`, which is exactly as long, and checks its
  /// hash. False with a message in `error` if it cannot be read or is damaged.
  bool readSection(const Section &section, std::span<std::byte> into,
                   std::string &error) const;

private:
  Reader() = default;
  bool load(std::string &error);
  bool readAt(uint64_t offset, std::span<std::byte> into,
              std::string &error) const;

  Index contents;
  Hash hash;
  std::vector<std::byte> memory; // if read from bytes
  int file = -1;                 // if read from disk
  uint64_t fileBytes = 0;
};

} // namespace tenon::format

#endif // TENON_FORMAT_READER_H
