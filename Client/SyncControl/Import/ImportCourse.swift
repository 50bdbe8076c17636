import Driftless
import DriftlessSQLite
import Foundation

/// What an import knows of the lines so far, those too that imports of the file before it saved.
struct ImportCourse {
  /// How far the file came.
  private var places: [ImportPlace]
  /// References to what later lines insert.
  var awaited: AwaitedReferences
  var later: LaterInserts
  /// Only what is saved twice by the same file again wants a place, and what would pass for being there before.
  var adds: Bool
  /// Those whose lines alone are wanted; nil for all.
  let missing: MissingObjects?
  /// The import, for others that look at how far it came.
  private let number: Int64?
  /// By what the lines are kept that were passed over.
  private let passedOver: PassedOverLines?

  /// - Parameters:
  ///   - skipped: Lines at the beginning that an import before this one has saved.
  ///   - places: How far imports of the file came before.
  init(
    of bytes: ImportBytes, after skipped: Int, _ places: [ImportPlace], in store: PersistentStore,
    _ shapes: ImportShapes, onlyMissing: Bool, by presence: ImportPresence?
  ) throws {
    number = presence?.number
    let place = places.first { $0.line == skipped }
    let passed = try place?.passedOver.map { lines in
      try store.read { try lines.all(through: skipped, $0) }
    }
    missing =
      try !onlyMissing
      ? nil
      : place == nil
        ? MissingObjects(store)
        : MissingObjects(store, of: bytes, through: skipped, passedOver: passed ?? [])
    passedOver = place?.passedOver ?? (onlyMissing ? PassedOverLines() : nil)
    awaited = AwaitedReferences(
      try WaitingReferences.all(
        of: bytes, through: skipped, at: place, without: passed ?? [], in: store, shapes))
    later = LaterInserts(shapes)
    // A part that is passed over may have added.
    adds = skipped > 0
    self.places = places
  }

  /// Whether a place is to be kept with what is saved.
  var hasPlace: Bool { adds || passedOver != nil }

  /// Keeps with a transaction how far the file is saved; nil where nobody needs it, and of a pipe.
  func keepPlace(
    _ reader: LineReader, of bytes: ImportBytes, in transaction: WriteTransaction
  ) throws -> ImportPlace? {
    guard hasPlace else { return nil }
    let place: ImportPlace?
    do throws(ImportBytes.ReadFailure) {
      place = try ImportPlace(
        reader, of: bytes, waitingLine: awaited.firstLine, passedOver: passedOver, by: number)
    } catch {
      throw ImportError(line: reader.number, "the file cannot be read: \(error.reason)")
    }
    guard let place else { return nil }
    try place.keep(in: transaction, inPlaceOf: places)
    if let passedOver, let missing {
      try passedOver.add(missing.unkept(through: reader.number), in: transaction)
    }
    return place
  }

  /// What was kept is saved.
  mutating func noteSaved(_ place: ImportPlace?) {
    guard let place else { return }
    places = [place]
    missing?.noteKept(through: place.line)
  }
}
