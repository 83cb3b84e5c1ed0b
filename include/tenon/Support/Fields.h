//===- Fields.h - The fields of a struct, listed once --------------------===//
//
// A struct that exists in several forms (in memory, in text, in a file) lists
// its fields here; every form is a walk over that list, so a new field is one
// more word. In text a field has the member's name, in lower case with words
// separated by underscores; where the text calls it otherwise, the list is a
// tuple of Field.
//
//   struct Place { int64_t lastOffset = 0; Kind kind = Kind::state; };
//   template <>
//   inline constexpr auto fieldsOf<Place> =
//       TENON_FIELDS(Place, lastOffset, kind);
//   template <> inline constexpr auto namesOf<Kind> =
//       std::to_array<std::string_view>({"state", "batch"});
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_FIELDS_H
#define TENON_SUPPORT_FIELDS_H

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

namespace tenon {

/// A member and its name in text: lower case, words separated by underscores.
template <typename Struct, typename Value>
struct Field {
  std::string_view name;
  Value Struct::*member;
};

/// Words of a member's name as text spells them: `last_offset` for lastOffset.
template <size_t length>
struct SpelledName {
  std::array<char, 2 * length> letters{};
  size_t count = 0;

  constexpr SpelledName(const char (&member)[length]) {
    for (char letter : std::string_view(member, length - 1)) {
      bool isCapital = letter >= 'A' && letter <= 'Z';
      if (isCapital)
        letters[count++] = '_';
      letters[count++] = isCapital ? char(letter - 'A' + 'a') : letter;
    }
  }
};
template <SpelledName spelled>
inline constexpr std::string_view spelling{spelled.letters.data(),
                                           spelled.count};

// A tuple of Field for members of a struct, at most 27. The preprocessor takes
// up one more member each time it reads the list again.
#define TENON_FIELDS(Struct, ...)                                              \
  std::tuple { TENON_READ_27(TENON_EACH_FIELD(Struct, __VA_ARGS__)) }
#define TENON_EACH_FIELD(Struct, member, ...)                                  \
  ::tenon::Field{::tenon::spelling<#member>, &Struct::member} __VA_OPT__(      \
      , TENON_NEXT_FIELD TENON_PARENTHESES(Struct, __VA_ARGS__))
#define TENON_NEXT_FIELD() TENON_EACH_FIELD
#define TENON_PARENTHESES ()
#define TENON_READ_27(...) TENON_READ_9(TENON_READ_9(TENON_READ_9(__VA_ARGS__)))
#define TENON_READ_9(...) TENON_READ_3(TENON_READ_3(TENON_READ_3(__VA_ARGS__)))
#define TENON_READ_3(...) TENON_READ(TENON_READ(TENON_READ(__VA_ARGS__)))
#define TENON_READ(...) __VA_ARGS__

/// A tuple of Field; specialised for every struct that has several forms.
template <typename Struct>
inline constexpr std::tuple<> fieldsOf;

template <typename Struct>
concept HasFields =
    std::tuple_size_v<std::remove_cvref_t<decltype(fieldsOf<Struct>)>> > 0;

/// Calls `function(field)` for each field in the order of the list.
template <HasFields Struct, typename Function>
constexpr void eachField(Function function) {
  std::apply([&](const auto &...field) { (function(field), ...); },
             fieldsOf<Struct>);
}

/// The names of an enumeration whose enumerators count from 0.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> namesOf;

template <typename Enum>
concept HasNames = namesOf<Enum>.size() > 0;

/// The enumerator's name, or `invalid` for a number that is none.
template <HasNames Enum>
constexpr std::string_view name(Enum value) {
  auto number = static_cast<size_t>(value);
  return number < namesOf<Enum>.size() ? namesOf<Enum>[number] : "invalid";
}

/// Inverse of name(); nothing for an unknown name.
template <HasNames Enum>
constexpr std::optional<Enum> fromName(std::string_view spelling) {
  for (size_t i = 0; i < namesOf<Enum>.size(); ++i)
    if (namesOf<Enum>[i] == spelling)
      return Enum(i);
  return std::nullopt;
}

/// Whether the number, which may come from a file, is one of an enumerator.
template <HasNames Enum>
constexpr bool isKnown(Enum value) {
  return static_cast<size_t>(value) < namesOf<Enum>.size();
}

} // namespace tenon

#endif // TENON_SUPPORT_FIELDS_H
