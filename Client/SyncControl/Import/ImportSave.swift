import Driftless
import Foundation
import SyncDaemon

/// Saves what the lines of one transaction did, and says of what the store refuses by which line that came.
struct ImportSave {
  static let changedMeanwhile = "changed-meanwhile"

  private let transaction: ImportTransaction
  private let lastLine: Int
  private let store: PersistentStore
  private let source: String
  private var context: ManagedObjectContext { transaction.context }

  init(
    _ transaction: ImportTransaction, lastLine: Int, in store: PersistentStore, source: String
  ) {
    (self.transaction, self.lastLine) = (transaction, lastLine)
    (self.store, self.source) = (store, source)
  }

  /// - Throws: `ImportError` with the line that is wrong; `Failure` (`changedMeanwhile`) where no line is, and another program changed
  ///   the same objects.
  func run() throws {
    do {
      transaction.countCascades()
      try context.save()
    } catch let error as ValidationFailure {
      guard let item = error.items.first else { throw error }
      let object = context.registeredObject(for: item.objectID)
      throw ImportError(
        line: object.flatMap { transaction.line(of: $0) } ?? lastLine,
        (item.error as? ValidationError).map { error in
          let identity = object.flatMap { transaction.identity(of: $0) }
            .map { " of \($0.uuidString.lowercased())" }
          return "\(error.entityName).\(error.propertyName)\(identity ?? ""): \(error.message)"
        } ?? "\(item.error)")
    } catch let error where isOvertaken(error) {
      throw overtaken
    } catch let error as AccessorFailure {
      guard let first = error.errors.compactMap({ $0 as? ObjectError }).first else { throw error }
      throw importError(first)
    } catch let error as ObjectError {
      throw importError(error)
    } catch let error as ConstraintConflictError {
      throw importError(error)
    } catch let error as StoreError where error.code == .constraint {
      throw ImportError(line: lastLine, error.message)
    } catch let error as StoreError where error.code == .valueNotHeld {
      throw ImportError(
        line: try line(of: error.keys) ?? lastLine, error.message,
        suggestion: error.suggestion)
    } catch is SaveConflictError {
      throw overtaken
    }
  }

  /// No line is wrong where the store itself cannot be read.
  private func importError(_ error: ObjectError) -> ImportError {
    guard error.code == .unreadable else { return ImportError(line: lastLine, error.message) }
    return ImportError(
      line: lastLine, error.message,
      suggestion:
        "see what is damaged (syncctl doctor): put lost files back beside the store, take what the zone has "
        + "(syncctl verify --repair), or go on without them (syncctl store give-up-lost FILE); then import again"
    )
  }

  /// The line of the first of these objects that lines of the transaction changed.
  private func line(of keys: [ObjectKey]) throws -> Int? {
    let identities = try store.read { reading in try keys.map { try reading.identity(of: $0) } }
    return identities.compactMap { transaction.line(ofIdentity: $0) }.min()
  }

  private var overtaken: Failure {
    Failure(
      .tryAgain, code: Self.changedMeanwhile,
      "Another program changed objects of the store while lines of \(source) changed them.",
      suggestion:
        "try again; nothing of this transaction was saved. Where no other program is at it, rows were changed past "
        + "the library: syncctl store check FILE says which. In a store that syncs, syncctl verify --repair takes what the zone "
        + "has of them; else make the store anew from an export of it (syncctl export, init, import)"
    )
  }

  /// Whether a save was refused for what another program made meanwhile. No line is wrong then.
  private func isOvertaken(_ error: any Error) -> Bool {
    let isRefused =
      error is ConstraintConflictError || (error as? StoreError)?.code == .constraint
      || (error as? ObjectError)?.code == .identityTaken
    return isRefused && (try? transaction.isOvertaken(in: store)) == true
  }

  /// A value as an import file has it, a text without its quotes.
  private func told(_ value: PropertyValue) -> String {
    if case .string(let text) = value { return text }
    var json = JSONText()
    json.value(value) { _, json in json.raw("null") }
    let text = String(decoding: json.bytes, as: UTF8.self)
    return text.hasPrefix("\"") ? String(text.dropFirst().dropLast()) : text
  }

  /// Names the line whose object takes a key that another one has.
  private func importError(_ error: ConstraintConflictError) -> ImportError {
    guard let conflict = error.conflicts.first else {
      return ImportError(line: lastLine, error.description)
    }
    let named = conflict.conflictingObjects.compactMap { id in
      context.registeredObject(for: id).flatMap { object in
        transaction.line(of: object).map { (line: $0, entity: object.entity.name) }
      }
    }.sorted { $0.line < $1.line }
    let entity = named.last?.entity ?? conflict.conflictingObjects.first?.entity.name ?? "object"
    let keys = conflict.constraint.map { name in
      "\(name) \(told(conflict.constraintValues[name] ?? .null))"
    }.joined(separator: ", ")
    var other = "another object has it"
    if let id = conflict.databaseObject,
      let identity = try? store.read({ try $0.identity(of: id.key) })
    {
      other = "object \(identity.uuidString.lowercased()) of the store has it"
    } else if named.count > 1, let first = named.first {
      other = "that of line \(first.line) would have it too"
    }
    return ImportError(
      line: named.last?.line ?? lastLine, "the \(entity) would have the unique \(keys): \(other)")
  }
}
