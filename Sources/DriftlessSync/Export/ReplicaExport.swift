import Crypto
public import Driftless
import DriftlessProtocol
import DriftlessSQLite
public import Foundation

/// A store's contents as canonical JSON lines: equal states give equal bytes, on every replica.
///
/// One line an object, sorted by entity, then identity; properties in the order of their names, ordered one-to-many
/// relationships before all others; those without a value left out:
///
/// ```json
/// {"entity":"Book","id":"0192…","op":"insert","set":{"author":"0191…","pages":311,"tags":["…"]}}
/// ```
///
/// To-one relationships are identities, many-to-many ones sorted arrays of identities, ordered ones
/// arrays in their order; another to-many relationship whose other end is to-one is said there. Values are
/// spelled as `JSONText` says; a null is left out where a new object has it. The lines can be imported again:
/// an object with a value that its model refuses, say without a reference that is required, has the names of such
/// properties in `"unfit"`, and is taken with them. A large value that the zone has and the store has not is named in `"inZone"`, and an
/// import leaves its property as it is.
public enum ReplicaExport {
  /// What a line asks of the store that it is imported into.
  public enum Operation: String, Sendable, CaseIterable {
    /// The object is not there yet. The canonical form: digests are of it.
    case insert
    /// The object is inserted where it is not there, and else takes the values that the line has. What the line leaves out
    /// stays as it is, and it leaves out what is set aside here (`syncctl parked`).
    case upsert
  }

  /// Hands over the export piece by piece; each piece ends with a line.
  ///
  /// - Parameters:
  ///   - store: the store, in one state.
  ///   - name: only objects of this entity (not of its subentities); nil for all.
  ///   - operation: what the lines ask for when they are imported.
  ///   - leavesOutLost: Whether large values whose files are gone are left out, as if they were null; else they are an error.
  ///   - body: gets each piece.
  /// - Throws: `SyncError` (`unknownElement`) for an entity that the model does not have,
  ///   `StoreError`, also for a value that cannot be read, and what `body` throws.
  public static func write(
    _ store: PersistentStore, entity name: String? = nil, as operation: Operation = .insert,
    leavesOutLost: Bool = false, to body: (Data) throws -> Void
  ) throws {
    try write(
      store, entity: name, as: operation, leavesOutLost: leavesOutLost,
      unreadable: { value, transaction in
        guard !leavesOutLost else { return }
        throw StoreError(
          .damaged, try value.sentence(transaction), suggestion: BrokenValue.advice)
      }, to: body)
  }

  /// A large value whose file beside the store is gone, cut off, or cannot be read.
  package struct LostCell: Hashable, Sendable {
    package var entity: String
    package var identity: UUID
    package var property: String
  }

  /// - Parameters:
  ///   - lost: Hears of each large value whose file is gone, which is left out then; where nobody does, and they are not left out
  ///     anyway, the first is an error.
  ///   - brokenArchive: Hears of each value of a transformable attribute that is no archive, with the attribute's name. It is
  ///     exported byte for byte all the same.
  ///   - unreadable: Hears of each value that cannot be read, which is left out then.
  package static func write(
    _ store: PersistentStore, entity name: String? = nil, as operation: Operation = .insert,
    leavesOutLost: Bool = false, lost: ((LostCell) throws -> Void)? = nil,
    brokenArchive: ((_ attribute: String) -> Void)? = nil,
    unreadable: (BrokenValue, ReadTransaction) throws -> Void, to body: (Data) throws -> Void
  ) throws {
    func leavesOut(_ cell: LostCell) throws -> Bool {
      try lost?(cell)
      return leavesOutLost || lost != nil
    }
    let schema = SyncSchema(store.schema)
    if let name, schema.entity(named: name) == nil {
      throw SyncError(
        .unknownElement, "The model has no entity \(name).",
        suggestion: "Its entities: \(schema.entities.map(\.name).joined(separator: ", ")).")
    }
    try store.read { transaction in
      for entity in schema.entities where name == nil || entity.name == name {
        try write(
          entity, as: operation, transaction, leavesOut, brokenArchive, unreadable, to: body)
      }
    }
  }

  /// Writes the export to a file, which is there whole or not at all, also when the power fails.
  ///
  /// - Parameters:
  ///   - store: the store, in one state.
  ///   - file: where it stands afterwards; what is there is replaced.
  ///   - operation: what the lines ask for when they are imported.
  ///   - leavesOutLost: Whether large values whose files are gone are left out; else they are an error.
  /// - Throws: `StoreError`, `diskFull` where there is no room for the file.
  public static func write(
    _ store: PersistentStore, to file: URL, as operation: Operation = .insert,
    leavesOutLost: Bool = false
  ) throws {
    let folder = file.deletingLastPathComponent()
    let draft = folder.appending(path: ".\(file.lastPathComponent).\(UUID().uuidString)")
    do {
      let descriptor = StoreSideFile.create(draft.path, beside: store.url?.path ?? draft.path)
      guard descriptor >= 0 else { throw StoreError.unwritten(draft, errno) }
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      defer { try? handle.close() }
      try write(store, as: operation, leavesOutLost: leavesOutLost) { piece in
        try StoreError.writing(file) { try handle.write(contentsOf: piece) }
      }
      try StoreError.writing(file) { try handle.synchronize() }
      guard rename(draft.path, file.path) == 0 else { throw StoreError.unwritten(file, errno) }
    } catch {
      try? FileManager.default.removeItem(at: draft)
      throw error
    }
    try StoreError.writing(folder) {
      let handle = try FileHandle(forReadingFrom: folder)
      defer { try? handle.close() }
      try handle.synchronize()
    }
  }

  /// The whole export. For a large store, use `write`.
  ///
  /// - Throws: `StoreError`, `lostFile` where a large value's file is gone.
  public static func text(of store: PersistentStore) throws -> String {
    var data = Data()
    try write(store) { data.append($0) }
    return String(decoding: data, as: UTF8.self)
  }

  /// The SHA-256 of the export, in hexadecimal, and how many objects it covers.
  ///
  /// - Throws: as ``text(of:)``.
  public static func digest(of store: PersistentStore) throws -> (digest: String, objects: Int) {
    var hash = SHA256()
    var objects = 0
    try write(store) { piece in
      hash.update(data: piece)
      objects += piece.count(of: UInt8(ascii: "\n"))
    }
    let digits = Array("0123456789abcdef")
    var digest = ""
    for byte in hash.finalize() {
      digest.append(digits[Int(byte >> 4)])
      digest.append(digits[Int(byte & 15)])
    }
    return (digest, objects)
  }

  /// Bytes: pieces are handed over at about this size.
  private static let pieceBytes = 1 << 18

  private static func write(
    _ entity: SyncSchema.Entity, as operation: Operation, _ transaction: ReadTransaction,
    _ leavesOut: (LostCell) throws -> Bool, _ brokenArchive: ((String) -> Void)?,
    _ unreadable: (BrokenValue, ReadTransaction) throws -> Void, to body: (Data) throws -> Void
  ) throws {
    var objects: [(identity: UUID, key: ObjectKey)] = []
    try transaction.forEachKey(of: entity.description) { key in
      objects.append((try transaction.identity(of: key), key))
    }
    objects.sort { $0.identity.precedes($1.identity) }
    let archives = brokenArchive == nil ? nil : BrokenArchives(entity)
    var json = JSONText()
    // What stands in for a value that is set aside is nobody's edit: imported, it would become one.
    let parked =
      try operation == .upsert && EngineTables.exist(on: transaction.connection)
      ? ParkedValues(transaction.connection) : nil
    for (identity, key) in objects {
      guard let read = try transaction.rowWithBreaches(key) else { continue }
      var (row, broken) = read
      for property in entity.properties where row.lost.contains(property.slot) {
        let cell = LostCell(entity: entity.name, identity: identity, property: property.name)
        // It says which file is gone.
        if try !leavesOut(cell) { _ = try transaction.row(key) }
      }
      try leaveOutGone(of: entity, &row.values, transaction)
      for value in broken { try unreadable(value, transaction) }
      if let archives { for name in archives.names(in: row.values) { brokenArchive?(name) } }
      let setAside = try parked?.properties(of: key) ?? []
      var unread = row.lost
      for value in broken { unread.insert(value.slot) }
      try append(
        entity, identity, key, row.values, as: operation, leavingOut: setAside,
        unread, transaction, to: &json)
      if json.bytes.count >= pieceBytes {
        try body(Data(json.bytes))
        json.removeAll()
      }
    }
    if !json.bytes.isEmpty { try body(Data(json.bytes)) }
  }

  /// A delete leaves a reference as it was where the relationship has no inverse, or one that does nothing then. To what is
  /// gone it is none: other replicas show none either, and no store could take it in.
  private static func leaveOutGone(
    of entity: SyncSchema.Entity, _ values: inout [PropertyValue], _ transaction: ReadTransaction
  ) throws {
    for slot in entity.mayDangle {
      guard case .reference(let target) = values[slot],
        try transaction.concreteKey(root: target) == nil
      else { continue }
      values[slot] = .null
    }
  }

  private static func append(
    _ entity: SyncSchema.Entity, _ identity: UUID, _ key: ObjectKey, _ values: [PropertyValue],
    as operation: Operation, leavingOut: Set<String>, _ unread: PropertyMask,
    _ transaction: ReadTransaction, to json: inout JSONText
  ) throws {
    json.raw("{\"entity\":")
    json.string(entity.name)
    json.raw(",\"id\":")
    json.uuid(identity)
    json.raw(",\"op\":\"\(operation.rawValue)\",\"set\":{")
    var isFirst = true
    for relationship in entity.ordered {
      let identities = try transaction.toManyKeys(of: key, relationship).map {
        try transaction.identity(of: $0)
      }
      guard !identities.isEmpty else { continue }
      if !isFirst { json.raw(",") }
      isFirst = false
      json.string(relationship.name)
      json.raw(":")
      list(identities, to: &json)
    }
    var inZone: [(name: String, value: ValueInZone)] = []
    for property in entity.properties {
      if case .place = property.kind { continue }
      if unread.contains(property.slot) { continue }
      if let named = ValueInZone(values[property.slot]) {
        inZone.append((property.name, named))
        continue
      }
      // What was set here since stands in for nothing.
      if leavingOut.contains(property.name),
        values[property.slot] == property.standIn?.shown ?? .null
      {
        continue
      }
      if case .elements(let relationship) = property.kind {
        if try transaction.toManyKeys(of: key, relationship).isEmpty { continue }
      } else if values[property.slot].isNull,
        entity.description.layout.slots[property.slot].defaultValue.isNull
      {
        continue
      }
      if !isFirst { json.raw(",") }
      isFirst = false
      json.string(property.name)
      json.raw(":")
      try append(property, of: key, values: values, transaction, to: &json)
    }
    json.raw("}")
    let unfit = try UnfitValues.names(
      of: key, entity, values, leavingOut: leavingOut.union(inZone.map(\.name)), transaction)
    if !unfit.isEmpty {
      json.raw(",\"unfit\":[")
      for (index, name) in unfit.enumerated() {
        if index > 0 { json.raw(",") }
        json.string(name)
      }
      json.raw("]")
    }
    if !inZone.isEmpty {
      json.raw(",\"inZone\":{")
      for (index, entry) in inZone.enumerated() {
        if index > 0 { json.raw(",") }
        json.string(entry.name)
        json.raw(":")
        append(entry.value, to: &json)
      }
      json.raw("}")
    }
    json.raw("}\n")
  }

  private static func append(_ value: ValueInZone, to json: inout JSONText) {
    let name = LargeValue(bytes: value.name)?.name ?? ""
    json.raw("{\"bytes\":\(value.length),\"sha256\":")
    json.string(name)
    json.raw("}")
  }

  /// Appends a large value that is not here: how many bytes it has, and their SHA-256.
  static func appendInZone(_ value: PropertyValue, to json: inout JSONText) {
    guard let named = ValueInZone(value) else { return }
    json.raw("{\"inZone\":")
    append(named, to: &json)
    json.raw("}")
  }

  /// Appends the value of one property.
  static func append(
    _ property: SyncSchema.Property, of key: ObjectKey, values: [PropertyValue],
    _ transaction: ReadTransaction, to json: inout JSONText
  ) throws {
    if case .place(let relationship) = property.kind {
      return json.raw(try transaction.place(of: key, in: relationship).map(String.init) ?? "null")
    }
    guard case .elements(let relationship) = property.kind else {
      if values[property.slot].isInZone { return appendInZone(values[property.slot], to: &json) }
      return try json.value(values[property.slot]) { key, json in
        json.uuid(try transaction.identity(of: key))
      }
    }
    var identities = try transaction.toManyKeys(of: key, relationship).map {
      try transaction.identity(of: $0)
    }
    if !relationship.isOrdered { identities.sort { $0.precedes($1) } }
    list(identities, to: &json)
  }

  private static func list(_ identities: [UUID], to json: inout JSONText) {
    json.raw("[")
    for (index, identity) in identities.enumerated() {
      if index > 0 { json.raw(",") }
      json.uuid(identity)
    }
    json.raw("]")
  }
}
