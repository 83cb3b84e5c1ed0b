//===- BoundText.cpp - Limits on program text before it is parsed --------===//
//
// One pass over the bytes with a stack of open brackets. Brackets close only
// their own kind: `->`, `>=` and a stray `>` change nothing, so no mixture of
// tokens makes the counted depth smaller than the depth at which the parser
// recurses.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/BoundText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace llvm;

namespace tenon::importer {
namespace {

bool isWordStart(char c) { return isAlpha(c) || c == '_'; }
bool isWord(char c) { return isAlnum(c) || c == '_' || c == '$' || c == '.'; }

/// What an alias stands for: how deep its chain of references is, and how many
/// references it holds when all of them are written out.
struct AliasCost {
  int64_t depth = 1;
  int64_t size = 1;
};

class Scanner {
public:
  Scanner(MutableArrayRef<char> text, const TextLimits &limits)
      : text(text), limits(limits) {}

  std::optional<TextFault> run() {
    while (!fault && at < text.size())
      step();
    return fault;
  }

private:
  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  StringRef slice(size_t from, size_t to) const {
    return StringRef(text.data() + from, to - from);
  }
  void report(size_t offset, const Twine &message) {
    if (!fault)
      fault = TextFault{offset, message.str()};
  }

  void step() {
    char c = peek();
    switch (c) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
      ++at;
      return;
    case '"':
      return string();
    case '/':
      if (peek(1) == '/')
        while (at < text.size() && text[at] != '\n')
          ++at;
      else
        ++at;
      return;
    case '(':
    case '[':
    case '{':
    case '<':
      return open(c);
    case ')':
      return close('(');
    case ']':
      return close('[');
    case '}':
      return close('{');
    case '>':
      return close('<');
    case '-':
      // The arrow closes nothing; repeated signs recurse in the parser.
      if (peek(1) == '>') {
        at += 2;
        return;
      }
      ++at;
      return;
    case '#':
    case '!':
      return alias(c);
    case '%':
      return value();
    default:
      if (isDigit(c))
        return number();
      if (isWordStart(c))
        return word();
      ++at;
    }
  }

  void open(char c) {
    if (int64_t(brackets.size()) >= limits.nesting)
      return report(at,
                    formatv("nested deeper than {0} brackets", limits.nesting));
    brackets.push_back(c);
    ++at;
  }

  void close(char opening) {
    if (!brackets.empty() && brackets.back() == opening)
      brackets.pop_back();
    ++at;
  }

  /// A string; a quoted name followed by `(` is an operation in generic form.
  void string() {
    size_t start = at++;
    while (at < text.size() && text[at] != '"' && text[at] != '\n')
      at += text[at] == '\\' ? 2 : 1;
    at = std::min(at, text.size());
    if (at < text.size() && text[at] == '"')
      ++at;
    if (peek() == '(') {
      if (brackets.empty())
        defined = StringRef();
      return countOperation(start);
    }
    StringRef contents = slice(start, at);
    if (contents.starts_with("\"0x") && !brackets.empty() &&
        brackets.back() == '<')
      recodeBooleans(start, at);
  }

  void number() {
    size_t start = at;
    while (isWord(peek()))
      ++at;
    if (int64_t(at - start) > limits.digits)
      report(start, formatv("a number of {0} digits, at most {1} are read",
                            at - start, limits.digits));
  }

  /// `%name`, `%name:results` or `%name#result`: the parser allocates a slot
  /// for every result number below the one it reads.
  void value() {
    size_t name = at++;
    while (isWord(peek()) || peek() == '-')
      ++at;
    if (peek() != '#' && peek() != ':')
      return;
    bool isUse = peek() == '#';
    StringRef named = slice(name, at);
    size_t start = at + 1;
    if (start >= text.size() || !isDigit(text[start]))
      return;
    at = start;
    while (isDigit(peek()))
      ++at;
    int64_t count = 0;
    if (slice(start, at).getAsInteger(10, count) || count > limits.results)
      return report(start, formatv("result number {0}, at most {1} are read",
                                   slice(start, at), limits.results));
    if (!isUse)
      return;
    int64_t &largest = resultNumbers[named];
    allResults += std::max<int64_t>(count - largest, 0);
    largest = std::max(largest, count);
    int64_t most = std::max<int64_t>(limits.results, int64_t(text.size()));
    if (allResults > most)
      report(start, formatv("result numbers that add up to {0}, at most {1} "
                            "are read",
                            allResults, most));
  }

  /// A bare word: an operation, a keyword or the head of a type.
  void word() {
    size_t start = at;
    while (isWord(peek()))
      ++at;
    StringRef name = slice(start, at);
    // An operation outside all brackets ends the definition of an alias.
    if (brackets.empty() && (name == "module" || name.contains('.')))
      defined = StringRef();
    // Affine expressions recurse per operator and never occur in the language.
    if (name == "affine_map" || name == "affine_set")
      return report(start,
                    formatv("'{0}' is not part of the input language", name));
    if ((name == "tensor" || name == "vector" || name == "memref") &&
        peek() == '<')
      return shape(start);
    if (name.contains('.'))
      countOperation(start);
  }

  void countOperation(size_t start) {
    if (++operations > limits.operations)
      report(start, formatv("more than {0} operations", limits.operations));
  }

  /// The dimensions of a shaped type. The number of elements must fit in 63
  /// bits, or sizes computed from it would wrap.
  void shape(size_t start) {
    open('<');
    int64_t rank = 0, elements = 1;
    while (!fault) {
      size_t dimension = at;
      while (isDigit(peek()))
        ++at;
      if (peek() != 'x' || (dimension == at && peek() != '?')) {
        if (peek() == '?' && peek(1) == 'x') {
          at += 2;
          ++rank;
          continue;
        }
        at = dimension;
        break;
      }
      int64_t extent = 0;
      if (slice(dimension, at).getAsInteger(10, extent) ||
          MulOverflow(elements, std::max<int64_t>(extent, 1), elements))
        return report(
            dimension,
            formatv("dimension {0} of extent {1} makes a type of more "
                    "than 2^63 elements",
                    rank, slice(dimension, at)));
      ++at;
      ++rank;
    }
    if (rank > limits.rank)
      report(start, formatv("a type of rank {0}, at most {1} is read", rank,
                            limits.rank));
  }

  /// `#name` or `!name`. At the start of a line followed by `=` it defines an
  /// alias; elsewhere it uses one, which costs what the alias costs.
  void alias(char sigil) {
    size_t start = at++;
    while (isWord(peek()))
      ++at;
    StringRef name = slice(start, at);
    bool lineStart = start == 0 || text[start - 1] == '\n';
    size_t next = at;
    while (next < text.size() && text[next] == ' ')
      ++next;
    if (lineStart && brackets.empty() && next < text.size() &&
        text[next] == '=') {
      defined = name;
      aliases[name] = AliasCost{};
      return;
    }
    auto use = aliases.find(name);
    if (use == aliases.end() || defined.empty() || defined == name)
      return;
    AliasCost &cost = aliases[defined];
    cost.depth = std::max(cost.depth, use->second.depth + 1);
    if (AddOverflow(cost.size, use->second.size, cost.size))
      cost.size = std::numeric_limits<int64_t>::max();
    if (cost.depth > limits.nesting)
      return report(
          start, formatv("a chain of more than {0} aliases", limits.nesting));
    // Locations share their tails and are printed through their aliases.
    if (cost.size > limits.aliasSize && !defined.starts_with("#loc"))
      report(start, formatv("alias '{0}' expands to more than {1} parts",
                            defined, limits.aliasSize));
  }

  /// Recodes `"0x..."` from `begin` to `end` when it is the value of a tensor
  /// of i1 with one byte per element.
  void recodeBooleans(size_t begin, size_t end) {
    size_t typeStart = end;
    auto skip = [&](StringRef token) {
      while (typeStart < text.size() && text[typeStart] == ' ')
        ++typeStart;
      if (!slice(typeStart, text.size()).starts_with(token))
        return false;
      typeStart += token.size();
      return true;
    };
    if (!skip(">") || !skip(":") || !skip("tensor<"))
      return;
    int64_t elements = 1;
    StringRef rest = slice(typeStart, text.size());
    while (!rest.empty() && isDigit(rest.front())) {
      int64_t extent = 0;
      if (rest.consumeInteger(10, extent) || !rest.consume_front("x") ||
          MulOverflow(elements, extent, elements))
        return;
    }
    if (!rest.starts_with("i1>"))
      return;
    char *digits = text.data() + begin + 3;
    int64_t bytes = int64_t(end - begin - 4) / 2;
    // One byte stands for a splat, all set or all clear. The packed form of up
    // to eight elements is a single byte too, which reads the same.
    if (bytes == 1 && elements > 8) {
      if (digits[0] == '0' && digits[1] == '1')
        digits[0] = digits[1] = 'F';
      return;
    }
    if (bytes != elements || elements <= 1)
      return;
    int64_t packed = int64_t(divideCeil(elements, 8));
    for (int64_t byte = 0; byte < packed; ++byte) {
      unsigned bits = 0;
      for (int64_t bit = 0; bit < 8 && byte * 8 + bit < elements; ++bit) {
        StringRef element(digits + 2 * (byte * 8 + bit), 2);
        if (element != "00" && element != "01")
          return report(begin + 3 + 2 * (byte * 8 + bit),
                        formatv("byte 0x{0} in a boolean constant, expected "
                                "0x00 or 0x01",
                                element));
        bits |= unsigned(element == "01") << bit;
      }
      digits[2 * byte] = hexdigit(bits >> 4);
      digits[2 * byte + 1] = hexdigit(bits & 15);
    }
    // Blanks after the closing quote keep every later column where it was.
    digits[2 * packed] = '"';
    std::fill(digits + 2 * packed + 1, text.data() + end, ' ');
  }

  MutableArrayRef<char> text;
  const TextLimits &limits;
  size_t at = 0;
  int64_t operations = 0;
  SmallVector<char, 64> brackets;
  StringMap<AliasCost> aliases;
  /// The largest result number used of each name, and their sum.
  StringMap<int64_t> resultNumbers;
  int64_t allResults = 0;
  /// The alias whose definition is being read; empty inside the module.
  StringRef defined;
  std::optional<TextFault> fault;
};

} // namespace

std::optional<TextFault> boundText(MutableArrayRef<char> text,
                                   const TextLimits &limits) {
  return Scanner(text, limits).run();
}

std::unique_ptr<llvm::MemoryBuffer> boundedCopy(StringRef text, StringRef name,
                                                TextFault &fault,
                                                const TextLimits &limits) {
  auto buffer =
      llvm::WritableMemoryBuffer::getNewUninitMemBuffer(text.size(), name);
  if (!buffer) {
    fault = {0,
             "cannot hold " + std::to_string(text.size()) + " bytes of text"};
    return nullptr;
  }
  llvm::copy(text, buffer->getBufferStart());
  if (std::optional<TextFault> found = boundText(buffer->getBuffer(), limits)) {
    fault = std::move(*found);
    return nullptr;
  }
  return buffer;
}

} // namespace tenon::importer
