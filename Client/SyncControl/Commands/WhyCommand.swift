import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct WhyCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "why",
    abstract: "Say why a property has the value that it has, or why an object is not there.",
    discussion: """
      Of an object that was deleted it says when, by whom and by which rule, and how to have it back.

      Example: syncctl why --store shop.sqlite Item/17.price
      """)

  @OptionGroup var target: StoreArguments
  @Argument(
    help:
      "ENTITY/ID.PROPERTY, with the ID as in an import file, or a UUID. Of a deleted object ENTITY/ID is enough."
  )
  var element: String
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let store = try target.open(reading: true)
    let element = try ElementPath(element, model: store.model)
    let keys = try? KeySource.of(store: target.url)?.read()
    for named in element.objects {
      guard
        let deleted = try SyncEngine.whyDeleted(of: store, object: named.identity, keys: keys)
      else { continue }
      let text = DeletionText(deleted, named: named.name, store: target.store)
      return try output.put(DeletionReport(deleted), lines: text.lines(ObjectLabels(store)))
    }
    let explanation = try explanation(of: element, in: store)
    let status = try SyncEngine.status(of: store)
    try output.put(
      Report(explanation: explanation, isEnrolled: status.isEnrolled),
      lines: Self.lines(explanation, status, ObjectLabels(store)))
  }

  /// An object that is not there is told as it was named.
  private func explanation(
    of element: ElementPath, in store: PersistentStore
  ) throws -> PropertyExplanation {
    try requireObject(element, in: store)
    try element.requireProperty(of: store.model)
    do {
      return try SyncEngine.why(
        of: store, object: element.identity, property: element.property,
        keys: try? KeySource.of(store: target.url)?.read())
    } catch let error as SyncError where error.code == .unknownElement {
      var failure = Failure(error)
      failure.message = failure.message.replacingOccurrences(
        of: "object \(element.identity.uuidString.lowercased())", with: "object \(element.object)")
      throw failure
    }
  }

  /// Where no property is named, an object that is not there is what is to be told.
  private func requireObject(_ element: ElementPath, in store: PersistentStore) throws {
    guard element.property.isEmpty else { return }
    let isThere = try store.read { transaction in
      guard let key = try transaction.key(of: element.identity) else { return false }
      return try transaction.concreteKey(root: key) != nil
    }
    guard isThere else {
      throw Failure(
        .badData, code: "unknown-element", "There is no object \(element.object) here.",
        suggestion: "syncctl export --store \(target.store.shellWord) lists those that are")
    }
  }

  /// The explanation, and whether there is a zone that the store could be in step with.
  private struct Report: Encodable {
    let explanation: PropertyExplanation
    let isEnrolled: Bool

    private enum Key: String, CodingKey {
      case object, entity, property, value, policy, isPending, isEnrolled, changedAt, author
      case conflicts, follows
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(explanation.object.uuidString.lowercased(), forKey: .object)
      try container.encode(explanation.entity, forKey: .entity)
      try container.encode(explanation.property, forKey: .property)
      // What stands is a value of its kind. Those of conflicts are texts of JSON: there null is no value at all.
      let value = try? JSONParser.parse(explanation.value)
      try container.encode(value ?? .string(explanation.value), forKey: .value)
      try container.encode(explanation.policy, forKey: .policy)
      try container.encode(explanation.isPending, forKey: .isPending)
      try container.encode(isEnrolled, forKey: .isEnrolled)
      try container.encode(explanation.changedAt?.date, forKey: .changedAt)
      try container.encode(explanation.author, forKey: .author)
      try container.encode(explanation.conflicts.map(ConflictReport.init), forKey: .conflicts)
      try container.encode(explanation.follows, forKey: .follows)
    }
  }

  private static func lines(
    _ explanation: PropertyExplanation, _ status: SyncStatus, _ labels: ObjectLabels
  ) -> [String] {
    let value =
      labels.reference(explanation.value, explanation.property, of: explanation.entity)
      ?? explanation.value
    var lines = ["\(explanation.entity).\(explanation.property) is \(value)"]
    if let follows = explanation.follows {
      lines.append("it follows \(follows): what is set there, of each of its objects, counts")
    }
    if let time = explanation.changedAt {
      let when = Moment.text(time.date)
      // What was pulled has no author of this store.
      lines.append(
        explanation.author == SyncEngine.importAuthor
          ? "taken from the zone \(when)"
          : "changed here \(when)" + (explanation.author.map { " by \($0)" } ?? ""))
    }
    lines.append("policy \(explanation.policy)" + (explanation.follows.map { ", of \($0)" } ?? ""))
    lines.append(zoneLine(explanation, status))
    if explanation.conflicts.isEmpty { lines.append("no conflicts") }
    lines += explanation.conflicts.flatMap { ConflictText.lines($0, labels) }
    return lines
  }

  /// How the value stands to the zone's, as far as it is known here.
  private static func zoneLine(
    _ explanation: PropertyExplanation, _ status: SyncStatus
  ) -> String {
    guard status.isEnrolled else { return "known here only: the store is not enrolled with a zone" }
    if explanation.isPending { return "waits to be pushed" }
    guard let lastSync = status.lastSync else {
      return "not compared with the zone yet: the store has not synced"
    }
    let behind = status.head > status.cursor ? status.head - status.cursor : 0
    if behind > 0 {
      return "as the zone had it, \(behind) change set\(behind == 1 ? "" : "s") ago"
    }
    return "in step with the zone, as of \(Moment.text(lastSync))"
  }
}
