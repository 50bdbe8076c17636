import Driftless
import Foundation
import GRDB

/// Ten thousand shelves with ten entries each: for predicates on to-many relationships, and for groups.
final class Shelf: ManagedObject {
  static let name = Attribute<Shelf, String>("name")
  static let entries = ToMany<Shelf, Entry>("entries")

  static func model() throws -> ManagedObjectModel {
    let shelf = EntityDescription("Shelf")
    shelf.managedObjectClassName = "Shelf"
    shelf.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("entries", to: "Entry", inverse: "shelf", toMany: true),
    ]
    let entry = EntityDescription("Entry")
    entry.managedObjectClassName = "Entry"
    entry.properties = [
      AttributeDescription("code", .integer64), AttributeDescription("size", .integer64),
      AttributeDescription("name", .string),
      RelationshipDescription("shelf", to: "Shelf", inverse: "entries"),
    ]
    let model = ManagedObjectModel(entities: [shelf, entry])
    try model.freeze()
    return model
  }
}

final class Entry: ManagedObject {
  static let code = Attribute<Entry, Int64>("code")
  static let size = Attribute<Entry, Int64>("size")
  static let name = Attribute<Entry, String>("name")
  static let shelf = ToOne<Entry, Shelf>("shelf")
}

/// The same with GRDB.
struct PeerShelf: Codable, FetchableRecord, PersistableRecord, TableRecord {
  static let databaseTableName = "shelf"
  static let entries = hasMany(PeerEntry.self, using: ForeignKey(["shelf"]))
  var id: Int64
  var name: String
}

struct PeerEntry: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "entry"
  var id: Int64
  var code: Int64
  var size: Int64
  var name: String
  var shelf: Int64
}
