import DriftlessProtocol
import DriftlessServer
import DriftlessTesting
import Foundation

extension SimulatedServer {
  func put(_ piece: ValuePiece) async throws -> ValueState {
    try admit()
    switch storage {
    case .memory(let zone): return try await zone.put(piece)
    case .files(let storage, _):
      return try await mapped {
        try await storage.keep(piece, of: zone(in: storage), token: "simulated")
      }
    }
  }

  func value(_ digest: Data, of generation: UUID, range: Range<Int>) async throws -> Data {
    switch storage {
    case .memory(let zone):
      return try await zone.value(digest, of: generation, range: range)
    case .files(let storage, _):
      return try await mapped {
        try await storage.value(
          digest, of: zone(in: storage), first: range.lowerBound, count: range.count)
      }
    }
  }

  func lostValues(of generation: UUID, after digest: Data?) async throws -> LostValues {
    switch storage {
    case .memory(let zone): return try await zone.lostValues(of: generation, after: digest)
    case .files(let storage, _):
      return try await mapped {
        LostValues(
          try await storage.lostValues(
            of: zone(in: storage), after: digest ?? Data(), countMax: LostValues.countMax))
      }
    }
  }
}
