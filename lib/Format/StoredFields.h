//===- StoredFields.h - Structs and FlatBuffers tables, field by field ---===//
//
// Private to this folder. A struct with a list of its fields (Support/Fields.h)
// and a table of Index.fbs with the same fields, names and order are two forms
// of one thing: nobody writes them to each other by hand. A list of texts or of
// lists is a list of tables with one field each.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_FORMAT_STOREDFIELDS_H
#define TENON_LIB_FORMAT_STOREDFIELDS_H

#include "tenon/Format/IndexFields.h"
#include "tenon/Format/Index_generated.h"

#include <utility>

namespace tenon::format {

/// Whether a struct's list names the fields of a table, in order.
template <typename Table, HasFields Struct>
consteval bool isForm() {
  size_t at = 0;
  bool same = true;
  eachField<Struct>([&](const auto &field) {
    same &= at < Table::Traits::fields_number &&
            field.name == Table::Traits::field_names[at];
    ++at;
  });
  return same && at == Table::Traits::fields_number;
}

/// Calls `function(number, field)` with std::integral_constant numbers.
template <typename Table, HasFields Struct, typename Function>
constexpr auto mapFields(Function function) {
  static_assert(isForm<Table, Struct>(),
                "Index.fbs and IndexFields.h list different fields");
  return [&]<size_t... numbers>(std::index_sequence<numbers...>) {
    // In braces, so that they are called in order.
    return std::tuple{function(std::integral_constant<size_t, numbers>(),
                               std::get<numbers>(fieldsOf<Struct>))...};
  }(std::make_index_sequence<Table::Traits::fields_number>());
}

/// What a generated accessor returns for a field.
template <typename Table, size_t number>
using FieldOf = typename Table::Traits::template FieldType<number>;

template <typename Stored>
using Pointee = std::remove_cv_t<std::remove_pointer_t<Stored>>;

/// What the elements of a list are seen as.
template <typename Stored>
struct Elements;
template <typename Table>
struct Elements<const flatbuffers::Vector<flatbuffers::Offset<Table>> *> {
  using type = const Table *;
};
template <typename Struct>
struct Elements<const flatbuffers::Vector<const Struct *> *> {
  using type = const Struct *;
};

/// Whether a pointer leads to a struct of the schema, which lies where it is
/// used.
template <typename Stored>
inline constexpr bool isStruct =
    std::is_same_v<Stored, const fb::Slice *> ||
    std::is_same_v<Stored, const fb::Launch *> ||
    std::is_same_v<Stored, const fb::KernelResources *> ||
    std::is_same_v<Stored, const fb::Lifetime *>;

/// Whether a pointer leads to the table around a text or list in a list.
template <typename Stored>
inline constexpr bool isBox = std::is_same_v<Stored, const fb::Text *> ||
                              std::is_same_v<Stored, const fb::Numbers *>;

} // namespace tenon::format

#endif // TENON_LIB_FORMAT_STOREDFIELDS_H
