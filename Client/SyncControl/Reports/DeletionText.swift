import Driftless
import DriftlessSync
import Foundation

/// Why an object is not there, for a person.
struct DeletionText {
  private let deleted: DeletionExplanation
  private let name: String
  private let store: String

  init(_ deleted: DeletionExplanation, named name: String, store: String) {
    self.deleted = deleted
    self.name = name
    self.store = store
  }

  func lines(_ labels: ObjectLabels) -> [String] {
    var lines = ["\(name) is deleted", whenAndWho]
    if deleted.isPending { lines.append("waits to be pushed: the zone has not heard of it") }
    if deleted.conflicts.isEmpty {
      lines.append("no conflicts: nothing was edited here that the delete took")
    }
    lines += deleted.conflicts.flatMap { ConflictText.lines($0, labels) }
    return lines + [wayBack]
  }

  private var whenAndWho: String {
    guard let time = deleted.deletedAt else {
      return "when is not known: history does not have it any more"
    }
    let when = Moment.text(time.date)
    if deleted.isByMerge {
      return deleted.conflicts.isEmpty
        ? "deleted \(when), as another replica had deleted it"
        : "deleted \(when), by what was pulled from the zone"
    }
    return "deleted here \(when)" + (deleted.author.map { " by \($0)" } ?? "")
  }

  private var wayBack: String {
    if let number = deleted.wayBack {
      return
        "to have it back as it was: syncctl conflicts undo --store \(store.shellWord) \(number)"
    }
    let entity = deleted.entity ?? "ENTITY"
    let id = deleted.object.uuidString.lowercased()
    let line = #"{"op":"upsert","entity":"\#(entity)","id":"\#(id)","set":{…}}"#
    return "to have it again: import it under its identity, \(line)"
  }
}

/// The same for programs.
struct DeletionReport: Encodable {
  private let deleted: DeletionExplanation

  init(_ deleted: DeletionExplanation) { self.deleted = deleted }

  private enum Key: String, CodingKey {
    case object, entity, isDeleted, deletedAt, author, isByMerge, isPending, conflicts, undo
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(deleted.object.uuidString.lowercased(), forKey: .object)
    try container.encode(deleted.entity, forKey: .entity)
    try container.encode(true, forKey: .isDeleted)
    try container.encode(deleted.deletedAt?.date, forKey: .deletedAt)
    try container.encode(deleted.author, forKey: .author)
    try container.encode(deleted.isByMerge, forKey: .isByMerge)
    try container.encode(deleted.isPending, forKey: .isPending)
    try container.encode(deleted.conflicts.map(ConflictReport.init), forKey: .conflicts)
    try container.encode(deleted.wayBack, forKey: .undo)
  }
}
