import DriftlessProtocol
import Foundation
import Hummingbird

/// The parameters of a request's query: each at most once, and what it has to be.
///
/// All throw `ServerError` (`.malformed`) with the parameter's name.
struct RequestQuery {
  private let parameters: Parameters

  init(_ parameters: Parameters) { self.parameters = parameters }

  init(_ request: Request) { self.init(request.uri.queryParameters) }

  /// Up to which a number may go that is counted with here: as far as a log may go.
  private static let countMax = 1 << 40

  /// A number of a log: any of 64 bits.
  func number(_ name: String) throws -> UInt64? {
    guard let text = try text(name) else { return nil }
    guard let number = UInt64(text) else { throw Self.malformed(name) }
    return number
  }

  func count(_ name: String, max: Int = countMax) throws -> Int {
    guard let text = try text(name), let count = Int(text), (0...max).contains(count)
    else { throw Self.malformed(name) }
    return count
  }

  /// Numbers with commas between them.
  func counts(_ name: String, countMax: Int) throws -> [Int] {
    guard let text = try text(name) else { throw Self.malformed(name) }
    let counts = text.split(separator: ",").map { Int($0) }
    guard counts.count <= countMax, counts.allSatisfy({ $0 != nil }) else {
      throw Self.malformed(name)
    }
    return counts.compactMap { $0 }
  }

  /// Whether a parameter is there, which is 1.
  func isGiven(_ name: String) throws -> Bool {
    guard let text = try text(name) else { return false }
    guard text == "1" else { throw Self.malformed(name) }
    return true
  }

  func uuid(_ name: String) throws -> UUID? {
    guard let text = try text(name) else { return nil }
    guard let uuid = UUID(uuidString: text) else { throw Self.malformed(name) }
    return uuid
  }

  /// The name of a large value.
  func digest(_ name: String) throws -> Data? {
    guard let text = try text(name) else { return nil }
    guard let digest = LargeValue.digest(named: text) else { throw Self.malformed(name) }
    return digest
  }

  func chain(_ name: String) throws -> LogChain? {
    guard let text = try text(name) else { return nil }
    guard let chain = LogChain(hexadecimal: text) else { throw Self.malformed(name) }
    return chain
  }

  /// - Throws: also `generation-changed` when the zone is in another life.
  func checkGeneration(of zone: ZoneRecord) throws {
    guard let generation = try uuid("generation") else { throw Self.malformed("generation") }
    guard generation == zone.generation else {
      throw ServerError.generationChanged(zone: zone.name)
    }
  }

  private func text(_ name: String) throws -> String? {
    let texts = parameters.getAll(name)
    guard texts.count <= 1 else { throw Self.malformed(name) }
    return texts.first
  }

  static func malformed(_ name: String) -> ServerError {
    ServerError(
      .malformed, "the query parameter \(name) is missing, twice there, or not what it must be",
      suggestion: "Update the client.")
  }
}
