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
    TENON_FIELDS(format::Slice, segment, offset, bytes);

template <>
inline constexpr auto fieldsOf<format::DeviceClass> =
    TENON_FIELDS(format::DeviceClass, name, architecture, features);

template <>
inline constexpr auto fieldsOf<format::MemorySpace> =
    TENON_FIELDS(format::MemorySpace, name);

template <>
inline constexpr auto fieldsOf<format::Segment> = TENON_FIELDS(
    format::Segment, name, kind, space, deviceClass, bytes, alignment);

template <>
inline constexpr auto fieldsOf<format::Storage> =
    TENON_FIELDS(format::Storage, type, shape, place);

template <>
inline constexpr auto fieldsOf<format::Holding> =
    TENON_FIELDS(format::Holding, rule, storages, order);

template <>
inline constexpr auto fieldsOf<format::MeshAxis> =
    TENON_FIELDS(format::MeshAxis, name, size);

template <>
inline constexpr auto fieldsOf<format::Cut> =
    TENON_FIELDS(format::Cut, strides, sizes);

template <>
inline constexpr auto fieldsOf<format::Tensor> =
    TENON_FIELDS(format::Tensor, name, aliases, type, shape, role, argument,
                 result, held, copies, entryPoint, cuts);

template <>
inline constexpr auto fieldsOf<format::Attribute> =
    TENON_FIELDS(format::Attribute, name, text, numbers);

template <>
inline constexpr auto fieldsOf<format::Callee> = TENON_FIELDS(
    format::Callee, kind, name, description, reads, fallback, library,
    libraryVersion, isa, workspaceBytes, attributes, followedBy, onHost);

template <>
inline constexpr auto fieldsOf<format::Block> =
    TENON_FIELDS(format::Block, instructions);

template <>
inline constexpr auto fieldsOf<format::Instruction> =
    TENON_FIELDS(format::Instruction, kind, callee, queue, operands, parts,
                 blocks, trips, joint, joined, pending);

template <>
inline constexpr auto fieldsOf<format::Certificate> =
    TENON_FIELDS(format::Certificate, kind, text);

template <>
inline constexpr auto fieldsOf<format::Lifetime> =
    TENON_FIELDS(format::Lifetime, begin, end);

template <>
inline constexpr auto fieldsOf<format::PlannedValue> =
    TENON_FIELDS(format::PlannedValue, buffer, bytes, type, source, recomputed,
                 lifetimes, problemValue);

template <>
inline constexpr auto fieldsOf<format::PlannedOperation> =
    TENON_FIELDS(format::PlannedOperation, begin, end, source, reads, writes,
                 handovers, regionEnds, node, nanoseconds, recomputed,
                 joinedNodes);

template <>
inline constexpr auto fieldsOf<format::Plan> =
    TENON_FIELDS(format::Plan, texts, buffers, values, operations, end, initial,
                 results, temporariesBound, memoryBudget, recomputationProblem,
                 recomputationSolution);

template <>
inline constexpr auto fieldsOf<format::EntryPoint> =
    TENON_FIELDS(format::EntryPoint, name, program, arguments, results, flops,
                 plan, certificates);

template <>
inline constexpr auto fieldsOf<format::Section> =
    TENON_FIELDS(format::Section, kind, offset, bytes, hashLow, hashHigh);

template <>
inline constexpr auto fieldsOf<format::Launch> =
    TENON_FIELDS(format::Launch, blocks, threads);

template <>
inline constexpr auto fieldsOf<format::KernelResources> = TENON_FIELDS(
    format::KernelResources, registers, sharedBytes, stackBytes, spillBytes);

template <>
inline constexpr auto fieldsOf<format::GpuModule> =
    TENON_FIELDS(format::GpuModule, architecture, capability, driver, cuda,
                 section, launches, schedules, assembler, binary, resources);

template <>
inline constexpr auto fieldsOf<format::Index> =
    TENON_FIELDS(format::Index, version, producer, name, subnormals,
                 deviceClasses, memorySpaces, segments, storages, tensors,
                 callees, entryPoints, sections, arithmetic, gpuModules, mesh);

} // namespace tenon

#endif // TENON_FORMAT_INDEXFIELDS_H
