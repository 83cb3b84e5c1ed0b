//===- Program.h - A random program while it is written ------------------===//
//
// Text of operations and the values they may use. Inputs are constants behind
// a barrier, or, now and then, constants that the compiler may fold; a program
// needs no arguments, and a module of many programs is one function.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_RANDOM_PROGRAM_H
#define TENON_TEST_RANDOM_PROGRAM_H

#include "Random.h"

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>
#include <vector>

namespace tenon::random {

enum class Class { boolean, signedInteger, unsignedInteger, real, complex };

/// An element type as text.
struct Element {
  llvm::StringLiteral name;
  Class kind;
  int64_t bits;     // of the whole element
  int64_t digits;   // of a real part's fraction
  int64_t exponent; // bits of a real part's exponent

  bool isInteger() const {
    return kind == Class::signedInteger || kind == Class::unsignedInteger;
  }
  bool operator==(const Element &other) const { return name == other.name; }
};

const std::vector<Element> &elements();
const Element &elementNamed(llvm::StringRef name);

using Shape = std::vector<int64_t>;

struct Type {
  Shape shape;
  const Element *element = nullptr;

  int64_t size() const;
  int64_t rank() const { return int64_t(shape.size()); }
  std::string text() const;
  Type with(Shape other) const { return {std::move(other), element}; }
  Type with(const Element &other) const { return {shape, &other}; }
  bool operator==(const Type &other) const {
    return shape == other.shape && *element == *other.element;
  }
};

struct Value {
  std::string name;
  Type type;
};

/// What the values of an input are like.
enum class Style {
  tame, // moderate numbers, so that sums stay finite
  wild, // any bits, and the edges of the type
};

class Program {
public:
  Program(uint64_t seed, std::string prefix)
      : random(seed), prefix(std::move(prefix)),
        style(random.chance(60) ? Style::tame : Style::wild) {}

  Random random;

  /// A value that fits, from those there are or a new input.
  Value any(const std::function<bool(const Type &)> &fits,
            const std::function<Type()> &otherwise);
  /// A value of exactly this type.
  Value of(const Type &type);
  /// A new input.
  Value input(const Type &type, Style style);
  Value input(const Type &type) { return input(type, style); }
  /// An input of integers from `low` to `high`.
  Value integers(const Type &type, int64_t low, int64_t high);
  /// A random shape of a few elements.
  Shape shape(int64_t minRank = 0);
  const Element &element(const std::function<bool(const Element &)> &fits);

  /// Writes `%name = text` and makes it a value.
  Value add(const Type &type, const std::string &text);
  std::vector<Value> add(const std::vector<Type> &types,
                         const std::string &text);
  /// A name for a value inside a region.
  std::string local() { return "%" + prefix + "l" + std::to_string(locals++); }

  const std::string &text() const { return body; }
  /// Values that nobody uses, and some others.
  std::vector<Value> results();

private:
  Value constant(const Type &type, const std::string &literal);
  std::string literal(const Type &type, Style style);
  uint64_t integerBits(const Element &element, Style style);
  uint64_t realBits(int64_t digits, int64_t exponent, Style style);
  void use(const std::string &text);

  std::string prefix;
  Style style;
  std::string body;
  int64_t names = 0, locals = 0;
  std::vector<Value> values;
  std::vector<bool> used;
};

/// Adds an operation to a program; nothing happens if it does not fit.
using Emitter = void (*)(Program &);
/// What programs are made of: operations of StableHLO and CHLO, or attention.
enum class Subject { operations, attention };
const std::vector<Emitter> &emitters(Subject subject);

/// A module with the programs `first` to `first + count - 1`, all in @main.
std::string randomModule(uint64_t first, uint64_t count, Subject subject);

} // namespace tenon::random

#endif // TENON_TEST_RANDOM_PROGRAM_H
