import Foundation

/// Texts and sources of edits of one fold, each once: records name them by small numbers.
///
/// Texts are told apart by their bytes, since to Swift canonically equivalent ones are equal. The tables grow with the names
/// of a model and with replicas and authors, never with the log.
final class FoldTables {
  private(set) var texts: [String] = []
  private(set) var sources: [FoldSource] = []
  private var textPlaces: [[UInt8]: UInt32] = [:]
  private var sourcePlaces: [FoldSource: UInt32] = [:]

  /// How many there are of both: what is kept of the tables is kept anew when it grows.
  var count: Int { texts.count + sources.count }

  func text(_ text: String) -> UInt32 {
    let bytes = Array(text.utf8)
    if let place = textPlaces[bytes] { return place }
    let place = UInt32(texts.count)
    texts.append(text)
    textPlaces[bytes] = place
    return place
  }

  func source(_ source: FoldSource) -> UInt32 {
    if let place = sourcePlaces[source] { return place }
    let place = UInt32(sources.count)
    sources.append(source)
    sourcePlaces[source] = place
    return place
  }

  /// - Throws: `ProtocolError` (`.damaged`): a record names what no table has.
  func text(at place: UInt32) throws(ProtocolError) -> String {
    guard texts.indices.contains(Int(place)) else { throw .damagedFold }
    return texts[Int(place)]
  }

  /// - Throws: `ProtocolError` (`.damaged`): a record names what no table has.
  func source(at place: UInt32) throws(ProtocolError) -> FoldSource {
    guard sources.indices.contains(Int(place)) else { throw .damagedFold }
    return sources[Int(place)]
  }

  /// Whether a text comes before another by its bytes.
  func isOrdered(_ left: UInt32, _ right: UInt32) -> Bool {
    guard texts.indices.contains(Int(left)), texts.indices.contains(Int(right)) else {
      return false
    }
    return texts[Int(left)].utf8.lexicographicallyPrecedes(texts[Int(right)].utf8)
  }
}

extension FoldTables {
  /// Whether a constraint comes before another by its names.
  func isOrdered(_ left: FoldConstraint, _ right: FoldConstraint) -> Bool {
    ([left.entity] + left.properties).lexicographicallyPrecedes(
      [right.entity] + right.properties
    ) { isOrdered($0, $1) }
  }

  /// The tables as they are kept beside the runs.
  struct Kept: Codable {
    var texts: [String]
    var sources: [FoldSource]
  }

  var kept: Kept { Kept(texts: texts, sources: sources) }

  convenience init(_ kept: Kept) {
    self.init()
    for text in kept.texts { _ = self.text(text) }
    for source in kept.sources { _ = self.source(source) }
  }
}

/// Who made an edit.
struct FoldSource: Hashable, Codable {
  /// The replica that pushed it.
  var replica: UUID
  /// Of the text table; nil for none.
  var author: UInt32?
  /// Of the text table; nil for none.
  var contextName: UInt32?
  /// In an offer, the replica whose edit it was.
  var origin: UUID?
}

/// A save as a fold knows it: what the log says of it, and the entry that brought it.
struct FoldTransaction: Hashable {
  var sequence: UInt64
  var name: UInt64
  var hybridTime: UInt64
  /// Of the source table.
  var source: UInt32
}

extension ProtocolError {
  static let damagedFold = ProtocolError(
    .damaged, "A file of the fold is not as it was written",
    suggestion: "Delete the folder of the fold that is under way: it begins anew.")
}
