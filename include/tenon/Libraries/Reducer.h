//===- Reducer.h - Who combines what ranks exchange -----------------------===//
//
// An all-reduce or a reduce-scatter is carried out by the ranks, each of which
// combines its share in the order of the ranks, 16 bits in f32, so that every
// run has the same bits. A user may leave it to what carries the bytes instead
// (--fast-collectives), which has an order and a precision of its own. In a
// file it is the `library` of the callee.
//
// Where a file says `mpi` and no MPI connects the ranks, they do it themselves:
// ranks that are threads, and processes that messages over sockets connect.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_REDUCER_H
#define TENON_LIBRARIES_REDUCER_H

#include "tenon/Libraries/Collective.h"

#include <optional>

namespace tenon::libraries {

enum class Reducer : uint8_t { ranks, mpi, nccl };

/// Whether it combines elements of the type so: MPI has no floats of 16 bits,
/// and neither keeps a not-a-number in a maximum.
bool canReduce(Reducer reducer, ElementType type, Combination combination);

/// Empty if it carries out the collective, otherwise what is wrong.
std::string whyInvalid(const CollectiveDescription &description,
                       Reducer reducer);

/// As without a reducer; NCCL needs no memory of ours.
int64_t workspaceBytes(const CollectiveDescription &description,
                       Reducer reducer);
std::vector<int64_t> argumentBytes(const CollectiveDescription &description,
                                   Reducer reducer);

/// The reducer of this name; the ranks if it is empty.
std::optional<Reducer> reducerNamed(std::string_view name);

} // namespace tenon::libraries

namespace tenon {

template <>
inline constexpr auto namesOf<libraries::Reducer> =
    std::to_array<std::string_view>({"ranks", "mpi", "nccl"});

} // namespace tenon

#endif // TENON_LIBRARIES_REDUCER_H
