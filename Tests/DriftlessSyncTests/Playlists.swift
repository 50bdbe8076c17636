import Driftless
import Foundation
import Testing

/// Lists and songs: a many-to-many relationship with an order.
enum Playlists {
  static func model() -> ManagedObjectModel {
    let list = EntityDescription("Playlist")
    list.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("songs", to: "Song", inverse: "lists", toMany: true, isOrdered: true),
    ]
    let song = EntityDescription("Song")
    song.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("lists", to: "Playlist", inverse: "songs", toMany: true),
    ]
    return ManagedObjectModel(entities: [list, song])
  }
}

extension TestReplica {
  /// The songs of a list, in its order.
  func songs(of list: UUID) throws -> [UUID] {
    try store.read { transaction in
      guard let key = try transaction.key(of: list),
        let relationship = store.schema.entity(numbered: key.entity)?.relationshipsByName["songs"]
      else { return [] }
      return try transaction.toManyKeys(of: key, relationship).map(transaction.identity)
    }
  }

  func setSongs(of list: UUID, to songs: [UUID]) throws {
    try save { context in
      let object = try #require(try context.object(withIdentity: list))
      let songs = try songs.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(songs, forKey: "songs")
    }
  }
}
