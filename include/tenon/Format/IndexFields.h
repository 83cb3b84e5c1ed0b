//===- IndexFields.h - The fields of the index, for its other forms ------===//
//
// What Index.h declares, listed in the order of Index.fbs, whose tables and
// enumerations have the same names and fields. Writer and Reader walk these
// lists; that they are those of the schema is checked when either is compiled.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_INDEXFIELDS_H
#define TENON_FORMAT_INDEXFIELDS_H

#include "tenon/Format/Index.h"

namespace tenon {

template <>
inline constexpr auto fieldsOf<format::Slice> =
    std::tuple{Field{"segment", &format::Slice::segment},
               Field{"offset", &format::Slice::offset},
               Field{"bytes", &format::Slice::bytes}};

template <>
inline constexpr auto fieldsOf<format::DeviceClass> =
    std::tuple{Field{"name", &format::DeviceClass::name},
               Field{"architecture", &format::DeviceClass::architecture},
               Field{"features", &format::DeviceClass::features}};

template <>
inline constexpr auto fieldsOf<format::MemorySpace> =
    std::tuple{Field{"name", &format::MemorySpace::name}};

template <>
inline constexpr auto fieldsOf<format::Segment> =
    std::tuple{Field{"name", &format::Segment::name},
               Field{"kind", &format::Segment::kind},
               Field{"space", &format::Segment::space},
               Field{"device_class", &format::Segment::deviceClass},
               Field{"bytes", &format::Segment::bytes},
               Field{"alignment", &format::Segment::alignment}};

template <>
inline constexpr auto fieldsOf<format::Storage> =
    std::tuple{Field{"type", &format::Storage::type},
               Field{"shape", &format::Storage::shape},
               Field{"place", &format::Storage::place}};

template <>
inline constexpr auto fieldsOf<format::Holding> =
    std::tuple{Field{"rule", &format::Holding::rule},
               Field{"storages", &format::Holding::storages},
               Field{"order", &format::Holding::order}};

template <>
inline constexpr auto fieldsOf<format::Tensor> =
    std::tuple{Field{"name", &format::Tensor::name},
               Field{"aliases", &format::Tensor::aliases},
               Field{"type", &format::Tensor::type},
               Field{"shape", &format::Tensor::shape},
               Field{"role", &format::Tensor::role},
               Field{"argument", &format::Tensor::argument},
               Field{"result", &format::Tensor::result},
               Field{"held", &format::Tensor::held},
               Field{"copies", &format::Tensor::copies}};

template <>
inline constexpr auto fieldsOf<format::Attribute> =
    std::tuple{Field{"name", &format::Attribute::name},
               Field{"text", &format::Attribute::text},
               Field{"numbers", &format::Attribute::numbers}};

template <>
inline constexpr auto fieldsOf<format::Callee> =
    std::tuple{Field{"kind", &format::Callee::kind},
               Field{"name", &format::Callee::name},
               Field{"description", &format::Callee::description},
               Field{"reads", &format::Callee::reads},
               Field{"fallback", &format::Callee::fallback},
               Field{"library", &format::Callee::library},
               Field{"library_version", &format::Callee::libraryVersion},
               Field{"isa", &format::Callee::isa},
               Field{"workspace_bytes", &format::Callee::workspaceBytes},
               Field{"attributes", &format::Callee::attributes}};

template <>
inline constexpr auto fieldsOf<format::Block> =
    std::tuple{Field{"instructions", &format::Block::instructions}};

template <>
inline constexpr auto fieldsOf<format::Instruction> =
    std::tuple{Field{"kind", &format::Instruction::kind},
               Field{"callee", &format::Instruction::callee},
               Field{"queue", &format::Instruction::queue},
               Field{"operands", &format::Instruction::operands},
               Field{"parts", &format::Instruction::parts},
               Field{"blocks", &format::Instruction::blocks}};

template <>
inline constexpr auto fieldsOf<format::Certificate> =
    std::tuple{Field{"kind", &format::Certificate::kind},
               Field{"text", &format::Certificate::text}};

template <>
inline constexpr auto fieldsOf<format::Lifetime> =
    std::tuple{Field{"begin", &format::Lifetime::begin},
               Field{"end", &format::Lifetime::end}};

template <>
inline constexpr auto fieldsOf<format::PlannedValue> =
    std::tuple{Field{"buffer", &format::PlannedValue::buffer},
               Field{"bytes", &format::PlannedValue::bytes},
               Field{"type", &format::PlannedValue::type},
               Field{"source", &format::PlannedValue::source},
               Field{"recomputed", &format::PlannedValue::recomputed},
               Field{"lifetimes", &format::PlannedValue::lifetimes},
               Field{"problem_value", &format::PlannedValue::problemValue}};

template <>
inline constexpr auto fieldsOf<format::PlannedOperation> =
    std::tuple{Field{"begin", &format::PlannedOperation::begin},
               Field{"end", &format::PlannedOperation::end},
               Field{"source", &format::PlannedOperation::source},
               Field{"reads", &format::PlannedOperation::reads},
               Field{"writes", &format::PlannedOperation::writes},
               Field{"handovers", &format::PlannedOperation::handovers},
               Field{"region_ends", &format::PlannedOperation::regionEnds},
               Field{"node", &format::PlannedOperation::node},
               Field{"nanoseconds", &format::PlannedOperation::nanoseconds},
               Field{"recomputed", &format::PlannedOperation::recomputed},
               Field{"joined_nodes", &format::PlannedOperation::joinedNodes}};

template <>
inline constexpr auto fieldsOf<format::Plan> = std::tuple{
    Field{"texts", &format::Plan::texts},
    Field{"buffers", &format::Plan::buffers},
    Field{"values", &format::Plan::values},
    Field{"operations", &format::Plan::operations},
    Field{"end", &format::Plan::end},
    Field{"initial", &format::Plan::initial},
    Field{"results", &format::Plan::results},
    Field{"temporaries_bound", &format::Plan::temporariesBound},
    Field{"memory_budget", &format::Plan::memoryBudget},
    Field{"recomputation_problem", &format::Plan::recomputationProblem},
    Field{"recomputation_solution", &format::Plan::recomputationSolution}};

template <>
inline constexpr auto fieldsOf<format::EntryPoint> =
    std::tuple{Field{"name", &format::EntryPoint::name},
               Field{"program", &format::EntryPoint::program},
               Field{"arguments", &format::EntryPoint::arguments},
               Field{"results", &format::EntryPoint::results},
               Field{"flops", &format::EntryPoint::flops},
               Field{"plan", &format::EntryPoint::plan},
               Field{"certificates", &format::EntryPoint::certificates}};

template <>
inline constexpr auto fieldsOf<format::Section> =
    std::tuple{Field{"kind", &format::Section::kind},
               Field{"offset", &format::Section::offset},
               Field{"bytes", &format::Section::bytes},
               Field{"hash_low", &format::Section::hashLow},
               Field{"hash_high", &format::Section::hashHigh}};

template <>
inline constexpr auto fieldsOf<format::Index> =
    std::tuple{Field{"version", &format::Index::version},
               Field{"producer", &format::Index::producer},
               Field{"name", &format::Index::name},
               Field{"subnormals", &format::Index::subnormals},
               Field{"device_classes", &format::Index::deviceClasses},
               Field{"memory_spaces", &format::Index::memorySpaces},
               Field{"segments", &format::Index::segments},
               Field{"storages", &format::Index::storages},
               Field{"tensors", &format::Index::tensors},
               Field{"callees", &format::Index::callees},
               Field{"entry_points", &format::Index::entryPoints},
               Field{"sections", &format::Index::sections}};

} // namespace tenon

#endif // TENON_FORMAT_INDEXFIELDS_H
