//===- LineReader.h - words and integers of line-based text forms ---------===//
//
// The problem and solution files of ordering and recomputation are lines of
// words. Comments start with `#`, empty lines are skipped. The reader knows the
// current line's number, for diagnostics.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_LINEREADER_H
#define TENON_LIB_SOLVER_LINEREADER_H

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::solver {

class LineReader {
public:
  explicit LineReader(std::string_view text) : rest(text) {}

  /// Moves to the next line that holds a word; false at the end.
  bool next() {
    while (!rest.empty()) {
      size_t end = rest.find('\n');
      line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view()
                                           : rest.substr(end + 1);
      ++number;
      line = line.substr(0, line.find('#'));
      skipBlanks();
      if (!line.empty())
        return true;
    }
    return false;
  }

  /// Takes the next word if it is `expected`.
  bool keyword(std::string_view expected) {
    if (peek() != expected)
      return false;
    skipWord();
    return true;
  }

  /// Takes the next word if it is an integer from `low` to `high`.
  std::optional<int64_t> integer(int64_t low, int64_t high) {
    std::string_view word = peek();
    int64_t value = 0;
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() ||
        end != word.data() + word.size() || value < low || value > high)
      return std::nullopt;
    skipWord();
    return value;
  }

  void skipWord() {
    line.remove_prefix(peek().size());
    skipBlanks();
  }
  std::string word() const { return std::string(peek()); }
  bool atEnd() const { return line.empty(); }

  std::string error(const std::string &what) const {
    return "line " + std::to_string(number) + ": " + what;
  }

private:
  std::string_view peek() const {
    return line.substr(0, line.find_first_of(" \t\r"));
  }
  void skipBlanks() {
    size_t start = line.find_first_not_of(" \t\r");
    line = start == std::string_view::npos ? std::string_view()
                                           : line.substr(start);
  }

  std::string_view rest;
  std::string_view line;
  int64_t number = 0;
};

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_LINEREADER_H
