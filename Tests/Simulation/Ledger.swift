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
    /// How many saves there were before it, of all hosts.
    var moment: Int
    /// The model's word and nobody's: the object began with it.
    var isBeginning = false
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
    var moment: Int
    var isAdd: Bool
    var isExcused = false
  }

  struct Life {
    var entity: String
    var inserts = 0
    var deletes = 0
    /// Who deleted it last, in which transaction.
    var lastDelete: (host: Int, transaction: Int64, moment: Int)?
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
  /// What a person of a host kept that was deleted in the zone, and after how many saves.
  private(set) var kept: [UUID: (host: Int, moment: Int)] = [:]
  /// What journals name: the texts at each place, and the objects.
  private(set) var journaled: [Place: Set<String>] = [:]
  private var journaledObjects: Set<UUID> = []
  /// Objects that became one, and those that they became one with.
  private var united: Set<UUID> = []
  private var readJournals: Set<String> = []
  /// Where journals have entries that came since all was quiet.
  private(set) var journaledLately: Set<Place> = []
  /// What conflicts were between, and what stands.
  private var outcomes: [Place: [(words: Set<String>, kept: Set<String>)]] = [:]
  /// How many saves there were.
  private(set) var moment = 0
  /// What everybody showed when all was quiet last, and after how many saves; nil where somebody may have forgotten it since.
  private(set) var shared: (image: Image, moment: Int)?
  /// The edits that each host has heard of, of what its program may have no name for.
  private var heard: [Int: Set<Int>] = [:]
  /// Where people put elements of lists.
  var orders = Orders()

  // MARK: - Writing down

  /// Notes the difference that one save made.
  ///
  /// - Parameter hidden: where the host had a value set aside that its model has no room for, which went with the edit.
  mutating func note(
    host: Host, before: Image, after: Image, traits: Traits, hidden: Set<Place> = []
  ) throws {
    let time = try host.newestTime
    let transaction = try host.newestTransaction
    moment += 1
    let gone = Set(before.things.keys).subtracting(after.things.keys)
    for id in gone {
      lives[id, default: Life(entity: before.things[id]?.entity ?? "")].deletes += 1
      lives[id]?.lastDelete = (host.number, transaction, moment)
      supersedeAll(of: id, before)
    }
    if !gone.isEmpty {
      supersedeDropped(of: gone, host.number, traits)
      try supersedeParked(of: gone, host)
    }
    orders.note(host.number, (transaction, moment), before, after, traits)
    for place in hidden
    where before.value(place.object, place.property) != after.value(place.object, place.property)
      || gone.contains(place.object)
    {
      for index in editsAt[place] ?? [] { edits[index].isSuperseded = true }
    }
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
          time: time, transaction: transaction, moment: moment,
          isBeginning: old == nil && traits.isBeginning(now, thing.entity, property))
        // A partner was taken by another: its former owner lets it go, which is the same fact.
        let isTaken =
          now == Image.null
          && after.things.contains { other, thing in
            other != id && thing.values[property] == was && before.value(other, property) != was
          }
        if was == Image.null, traits.isKey(thing.entity, property) {
          supersedeWaiting(edit)
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
      if policy == .union || policy == .text || policy == GeneratedModel.together {
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
      ElementEvent(
        host: edit.host, time: edit.time, transaction: edit.transaction, moment: edit.moment,
        isAdd: isAdd))
  }

  private mutating func supersede(_ place: Place, _ shown: String) {
    for index in editsAt[place] ?? [] where edits[index].after == shown {
      edits[index].isSuperseded = true
    }
    guard shown != Image.null else { return }
    // Of two that a copy of a store made under one identity, one has another by now: it is known by what it shows.
    for twin in fuzzy where twin != place.object && lives[twin]?.inserts ?? 0 > 1 {
      for index in editsAt[Place(object: twin, property: place.property)] ?? []
      where edits[index].after == shown {
        edits[index].isSuperseded = true
      }
    }
  }

  /// A value that waits for its key is null to whom set it, and is what a later edit of theirs is in place of.
  private mutating func supersedeWaiting(_ edit: Edit) {
    for index in editsAt[edit.place] ?? [] where edits[index].host == edit.host {
      edits[index].isSuperseded = true
    }
  }

  /// A person saw an object, what is null of it as well, and deleted it.
  private mutating func supersedeAll(of object: UUID, _ before: Image) {
    let shown = before.things[object]?.values.keys.map { Place(object: object, property: $0) } ?? []
    for place in Set(shown).union(editsAt.keys.filter { $0.object == object }) {
      supersede(place, before.value(object, place.property))
    }
  }

  /// A person set, or had heard of, what their program has no name for since, and deleted the object with that.
  private mutating func supersedeDropped(of gone: Set<UUID>, _ host: Int, _ traits: Traits) {
    for index in edits.indices
    where gone.contains(edits[index].place.object)
      && (edits[index].host == host || heard[host]?.contains(index) == true)
    {
      let place = edits[index].place
      guard place.property == GeneratedModel.dropped, let entity = lives[place.object]?.entity,
        traits.kind(entity, place.property) == nil
      else { continue }
      edits[index].isSuperseded = true
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

  /// A host's program gets another model: what that may have no name for, it has heard of as far as it shows it.
  mutating func hear(_ image: Image, on host: Int) {
    for index in edits.indices where edits[index].place.property == GeneratedModel.dropped {
      let place = edits[index].place
      guard image.value(place.object, place.property) == edits[index].after else { continue }
      heard[host, default: []].insert(index)
    }
  }

  mutating func keep(_ objects: some Sequence<UUID>, on host: Int) {
    for id in objects { kept[id] = (host, moment) }
  }

  /// What a person said is not known any more: the host was put back, or the log is another one.
  ///
  /// - Parameter host: nil for all of them.
  mutating func forgetKept(on host: Int? = nil) {
    shared = nil
    excuse(lives: Set(kept.filter { host == nil || $0.value.host == host }.keys))
    kept = kept.filter { host != nil && $0.value.host != host }
  }

  mutating func settle(_ index: Int) { edits[index].isSettled = true }
  mutating func makeFuzzy(_ object: UUID) { fuzzy.insert(object) }

  /// A host lost what it saved after a transaction, or a moment, and the zone never had.
  ///
  /// A copy may be of what the host was before it was put back to another one: then the numbers of its transactions say
  /// nothing of what it has.
  mutating func excuse(
    host: Int, after transaction: Int64, since moment: Int = .max, objects: Set<UUID>
  ) {
    shared = nil
    heard[host] = nil
    for index in edits.indices
    where edits[index].host == host
      && (edits[index].transaction > transaction || edits[index].moment > moment)
    {
      edits[index].isExcused = true
    }
    for (place, all) in elements {
      for (element, events) in all {
        for (index, event) in events.enumerated()
        where event.host == host && (event.transaction > transaction || event.moment > moment) {
          elements[place]?[element]?[index].isExcused = true
        }
      }
    }
    orders.excuse(host: host, after: transaction, since: moment)
    excuse(lives: objects)
    excuse(deletesBy: host, after: transaction, since: moment)
  }

  /// Deletes that a host made after a transaction are none for the zone.
  mutating func excuse(deletesBy host: Int, after transaction: Int64, since moment: Int = .max) {
    for (id, life) in lives {
      if let last = life.lastDelete, last.host == host,
        last.transaction > transaction || last.moment > moment
      {
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
    shared = nil
    for index in edits.indices
    where edits[index].host == host && !objects.contains(edits[index].place.object) {
      edits[index].isExcused = true
    }
  }

  /// The zone is replaced on purpose: what there is goes with it, and does not come back but by a person's word.
  mutating func bury() {
    shared = nil
    excuse(lives: Set(lives.keys))
    for index in edits.indices { edits[index].isExcused = true }
    for (place, all) in elements {
      for (element, events) in all {
        for index in events.indices { elements[place]?[element]?[index].isExcused = true }
      }
    }
    buried.formUnion(lives.keys)
    orders.begin(Image())
    orders.isVoid = true
  }

  /// All is quiet, and everybody shows one image, and has heard of all that their models have no name for.
  mutating func rest(_ image: Image, on hosts: [Int]) {
    let dropped = edits.indices.filter { edits[$0].place.property == GeneratedModel.dropped }
    for host in hosts { heard[host, default: []].formUnion(dropped) }
    orders.begin(image)
    journaledLately = []
    shared = (image, moment)
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
      let place = Place(object: object, property: property)
      journaled[place, default: []].formUnion(texts)
      journaledLately.insert(place)
      let words = [entry.local, entry.remote].reduce(into: Set<String>()) {
        $0.formUnion(Image.words(in: $1 ?? ""))
      }
      outcomes[place, default: []].append((words, Image.words(in: entry.kept ?? "")))
    }
  }

  /// Notes that objects are one: nothing of either is lost that no journal names.
  mutating func unite(_ objects: some Sequence<UUID>) { united.formUnion(objects) }

  /// Whether a journal names an object, or it became one with another.
  func isNamed(_ object: UUID) -> Bool {
    journaledObjects.contains(object) || united.contains(object)
  }

  /// Whether a journal names a word as one that does not stand.
  func isOutdone(_ place: Place, _ word: String) -> Bool {
    outcomes[place]?.contains { $0.words.contains(word) && !$0.kept.contains(word) } ?? false
  }

  /// Whether a journal names a value as one that lost.
  func isJournaled(_ place: Place, _ text: String) -> Bool {
    journaled[place]?.contains { $0 == text || $0.contains(text) } ?? false
  }
}
