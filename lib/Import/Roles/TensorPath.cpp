//===- TensorPath.cpp - Paths of tensors in a caller's data structures ---===//
//
// A path is a root followed by subscripts in brackets (a number, or a quoted
// key) and attributes after a dot.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/TensorPath.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace tenon::importer {

/// A subscript without its brackets: `0`, `'l1'`, `"l1"`, `<flat index 3>`.
static PathKey subscript(StringRef text) {
  text = text.trim();
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.back() == text.front())
    return {text.drop_front().drop_back().str(), false};
  text.consume_front("<flat index ");
  text.consume_back(">");
  return {text.str(), !text.empty() && all_of(text, isDigit)};
}

/// The end of the subscript that opens at `text[0]`: the matching bracket,
/// quoted text skipped. npos when it is not closed.
static size_t subscriptEnd(StringRef text) {
  char quote = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    char c = text[i];
    if (quote) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == ']') {
      return i;
    }
  }
  return StringRef::npos;
}

TensorPath parseTensorPath(StringRef text) {
  TensorPath path;
  text = text.trim();
  size_t rootEnd = text.find_first_of(".[");
  if (StringRef root = text.take_front(rootEnd); !root.empty())
    path.push_back({root.str(), false});
  text = rootEnd == StringRef::npos ? StringRef() : text.drop_front(rootEnd);
  while (!text.empty()) {
    if (text.front() == '[') {
      size_t end = subscriptEnd(text);
      path.push_back(subscript(text.slice(1, end)));
      text = end == StringRef::npos ? StringRef() : text.drop_front(end + 1);
      continue;
    }
    text.consume_front(".");
    size_t end = text.find_first_of(".[");
    if (StringRef key = text.take_front(end); !key.empty())
      path.push_back({key.str(), false});
    text = end == StringRef::npos ? StringRef() : text.drop_front(end);
  }
  return path;
}

std::string joinKeys(ArrayRef<PathKey> keys) {
  return join(map_range(keys,
                        [](const PathKey &key) -> const std::string & {
                          return key.text;
                        }),
              ".");
}

ArrayRef<PathKey> withoutResultRoot(ArrayRef<PathKey> path) {
  if (!path.empty() && !path.front().isIndex && path.front().text == "result")
    return path.drop_front();
  return path;
}

} // namespace tenon::importer
