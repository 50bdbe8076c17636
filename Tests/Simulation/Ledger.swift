import Driftless
import DriftlessSync
import Foundation

/// What people did, written down apart from the engine: from what each replica showed before and
/// after each save.
struct Ledger {
  struct Place: Hashable {
    var object: UUID
    var property: String
  }

  /// A value that a person set.
  struct Edit {
    var host: Int
    var place: Place
    var before: String
    var after: String
    /// The time of the save.
    var time: UInt64
    /// The history transaction of the save, on its host.
    var transaction: Int64
    /// Somebody who saw it set another value, or deleted the object.
    var isSuperseded = false
    /// A restore took it before the zone had it: it may be lost, or not.
    var isExcused = false
    /// It was seen to stand, or in a journal, when all was quiet.
    var isSettled = false
  }

  /// An element that a person added or removed.
  struct ElementEvent {
    var host: Int
    var time: UInt64
    var transaction: Int64
    var isAdd: Bool
    var isExcused = false
  }

  struct Life {
    var entity: String
    var inserts = 0
    var deletes = 0
    /// Who deleted it last, in which transaction.
    var lastDelete: (host: Int, transaction: Int64)?
    var isExcused = false
  }

  private(set) var edits: [Edit] = []
  private(set) var editsAt: [Place: [Int]] = [:]
  private(set) var elements: [Place: [String: [ElementEvent]]] = [:]
  private(set) var lives: [UUID: Life] = [:]
  /// Objects about which the laws say less: made by several people, or changed by a rogue.
  private(set) var fuzzy: Set<UUID> = []
  /// Objects of before the zone was replaced.
  private(set) var buried: Set<UUID> = []
  /// What journals name: the texts at each place, and the objects.
  private(set) var journaled: [Place: Set<String>] = [:]
  private(set) var journaledObjects: Set<UUID> = []
  private var readJournals: Set<String> = []

  // MARK: - Writing down

  /// Notes the difference that one save made.
  mutating func note(
    host: Host, before: Image, after: Image, traits: Traits
  ) throws {
    let time = try host.newestTime
    let transaction = try host.newestTransaction
    let gone = Set(before.things.keys).subtracting(after.things.keys)
    for id in gone {
      lives[id, default: Life(entity: before.things[id]?.entity ?? "")].deletes += 1
      lives[id]?.lastDelete = (host.number, transaction)
      supersedeAll(of: id, before)
    }
    if !gone.isEmpty { try supersedeParked(of: gone, host) }
    for (id, thing) in after.things {
      let old = before.things[id]
      if old == thing { continue }
      if old == nil {
        lives[id, default: Life(entity: thing.entity)].inserts += 1
        if let inserts = lives[id]?.inserts, inserts > 1 { fuzzy.insert(id) }
      }
      for property in Set(thing.values.keys).union(old?.values.keys ?? [:].keys) {
        let was = old?.values[property] ?? Image.null
        let now = thing.values[property] ?? Image.null
        if was == now { continue }
        let edit = Edit(
          host: host.number, place: Place(object: id, property: property), before: was, after: now,
          time: time, transaction: transaction)
        // A partner was taken by another: its former owner lets it go, which is the same fact.
        let isTaken =
          now == Image.null
          && after.things.contains { other, thing in
            other != id && thing.values[property] == was && before.value(other, property) != was
          }
        note(edit, traits.kind(thing.entity, property), gone: gone, isTaken: isTaken)
      }
    }
  }

  private mutating func note(_ edit: Edit, _ kind: Traits.Kind?, gone: Set<UUID>, isTaken: Bool) {
    switch kind {
    case nil, .echo: return
    case .elements:
      let was = Set(Image.identities(in: edit.before))
      let now = Set(Image.identities(in: edit.after))
      for id in now.subtracting(was) { noteElement(edit, Image.text(of: id), isAdd: true) }
      for id in was.subtracting(now).subtracting(gone) {
        noteElement(edit, Image.text(of: id), isAdd: false)
      }
    case .reference:
      supersede(edit.place, edit.before)
      // A delete rule said this, not a person.
      if edit.after == Image.null,
        isTaken || Image.identities(in: edit.before).contains(where: { gone.contains($0) })
      {
        return
      }
      add(edit)
    case .attribute(let policy):
      if policy == .union || policy == .text {
        let was = Image.words(in: edit.before)
        let now = Image.words(in: edit.after)
        for word in now.subtracting(was) { noteElement(edit, word, isAdd: true) }
        for word in was.subtracting(now) { noteElement(edit, word, isAdd: false) }
      } else {
        if policy != .counter { supersede(edit.place, edit.before) }
        add(edit)
      }
    }
  }

  private mutating func add(_ edit: Edit) {
    editsAt[edit.place, default: []].append(edits.count)
    edits.append(edit)
  }

  private mutating func noteElement(_ edit: Edit, _ element: String, isAdd: Bool) {
    elements[edit.place, default: [:]][element, default: []].append(
      ElementEvent(host: edit.host, time: edit.time, transaction: edit.transaction, isAdd: isAdd))
  }

  private mutating func supersede(_ place: Place, _ shown: String) {
    for index in editsAt[place] ?? [] where edits[index].after == shown {
      edits[index].isSuperseded = true
    }
  }

  /// A person saw an object, what is null of it as well, and deleted it.
  private mutating func supersedeAll(of object: UUID, _ before: Image) {
    for place in editsAt.keys where place.object == object {
      supersede(place, before.value(object, place.property))
    }
  }

  /// A person saw an object as their program shows it, and deleted it: what is parked of it went with it.
  private mutating func supersedeParked(of gone: Set<UUID>, _ host: Host) throws {
    let unknown = Set(try SyncEngine.parked(of: host.store).flatMap(\.names))
    guard !unknown.isEmpty else { return }
    for index in edits.indices where gone.contains(edits[index].place.object) {
      let place = edits[index].place
      if let entity = lives[place.object]?.entity, unknown.contains("\(entity).\(place.property)") {
        edits[index].isSuperseded = true
      }
    }
  }

  mutating func settle(_ index: Int) { edits[index].isSettled = true }
  mutating func makeFuzzy(_ object: UUID) { fuzzy.insert(object) }

  /// A host lost what it saved after a transaction and the zone never had.
  mutating func excuse(host: Int, after transaction: Int64, objects: Set<UUID>) {
    for index in edits.indices
    where edits[index].host == host && edits[index].transaction > transaction {
      edits[index].isExcused = true
    }
    for (place, all) in elements {
      for (element, events) in all {
        for (index, event) in events.enumerated()
        where event.host == host && event.transaction > transaction {
          elements[place]?[element]?[index].isExcused = true
        }
      }
    }
    excuse(lives: objects)
    excuse(deletesBy: host, after: transaction)
  }

  /// Deletes that a host made after a transaction are none for the zone.
  mutating func excuse(deletesBy host: Int, after transaction: Int64) {
    for (id, life) in lives {
      if let last = life.lastDelete, last.host == host, last.transaction > transaction {
        lives[id]?.isExcused = true
      }
    }
  }

  mutating func excuse(lives objects: Set<UUID>) {
    for id in objects { lives[id]?.isExcused = true }
  }

  /// The zone begins anew with what hosts show. What a host set of an object that it shows no more went with the log: should
  /// an edit that was never sent bring the object back, it is as the one who edited it knew it.
  mutating func forget(host: Int, showing objects: Set<UUID>) {
    for index in edits.indices
    where edits[index].host == host && !objects.contains(edits[index].place.object) {
      edits[index].isExcused = true
    }
  }

  /// The zone is replaced on purpose: what there is goes with it, and does not come back but by a person's word.
  mutating func bury() {
    excuse(lives: Set(lives.keys))
    for index in edits.indices { edits[index].isExcused = true }
    for (place, all) in elements {
      for (element, events) in all {
        for index in events.indices { elements[place]?[element]?[index].isExcused = true }
      }
    }
    buried.formUnion(lives.keys)
  }

  /// Reads a host's journal. What it named stays named, also when the host is put back.
  mutating func read(_ journal: [JournalEntry], host: String, _ given: GivenIdentities) {
    for entry in journal {
      guard
        readJournals.insert("\(host) \(entry.number) \(entry.transaction) \(entry.object)").inserted
      else { continue }
      let object = given.name(entry.object, entry.entity)
      journaledObjects.insert(object)
      // An object that became one with this one is named in the words.
      journaledObjects.formUnion(
        entry.explanation.split { !($0.isHexDigit || $0 == "-") }.compactMap {
          UUID(uuidString: String($0))
        }.flatMap(given.names))
      // A property that the host's model does not have is named in the words as well.
      let named = entry.remote == nil ? "" : String(entry.explanation.prefix { $0 != "," })
      let property = entry.property ?? named
      let texts = [entry.local, entry.remote, entry.base, entry.kept].compactMap { $0 }
        .flatMap { given.named($0) }
      journaled[Place(object: object, property: property), default: []].formUnion(texts)
    }
  }

  /// Whether a journal names a value as one that lost.
  func isJournaled(_ place: Place, _ text: String) -> Bool {
    journaled[place]?.contains { $0 == text || $0.contains(text) } ?? false
  }
}
