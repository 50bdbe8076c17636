import Driftless
import Foundation

/// A law that does not hold.
struct Failure: Hashable, CustomStringConvertible {
  let law: String
  let text: String
  var description: String { "[\(law)] \(text)" }
}

/// What must hold of a state that all replicas show, whatever happened before.
struct StateLaws {
  let image: Image
  let traits: Traits
  let names: (UUID) -> String

  func check() -> [Failure] {
    var failures: [Failure] = []
    func fail(_ law: String, _ text: String) { failures.append(Failure(law: law, text: text)) }
    for (id, thing) in image.things {
      for (property, value) in thing.values {
        switch traits.kind(thing.entity, property) {
        case .reference, .echo, .elements:
          for target in Image.identities(in: value) where image.things[target] == nil {
            fail(
              "references", "\(names(id)).\(property) names \(names(target)), which is not there")
          }
        default: break
        }
      }
    }
    for (entity, property) in traits.oneToOne {
      var owners: [String: UUID] = [:]
      for (id, thing) in image.things where traits.kin[thing.entity]?.contains(entity) == true {
        guard let value = thing.values[property] else { continue }
        if let other = owners.updateValue(id, forKey: value) {
          fail("one-to-one", "\(names(id)) and \(names(other)) have one \(property)")
        }
      }
    }
    for (entity, property) in traits.pairs {
      for (id, thing) in image.things where traits.kin[thing.entity]?.contains(entity) == true {
        guard let mate = Image.identities(in: thing.values[property] ?? "").first,
          Image.identities(in: image.value(mate, property)).first != id
        else { continue }
        fail("pairs", "\(names(id)) has \(names(mate)) as its \(property), which has another")
      }
    }
    for (entity, property) in traits.trees {
      for (id, thing) in image.things where traits.kin[thing.entity]?.contains(entity) == true {
        var seen: Set<UUID> = [id]
        var next = image.things[id]?.values[property].flatMap { Image.identities(in: $0).first }
        while let one = next {
          guard seen.insert(one).inserted else {
            if one == id { fail("trees", "\(names(id)) is its own \(property) in a ring") }
            break
          }
          next = image.things[one]?.values[property].flatMap { Image.identities(in: $0).first }
        }
      }
    }
    for (entity, properties) in traits.keys {
      var holders: [[String]: UUID] = [:]
      for (id, thing) in image.things where traits.kin[thing.entity]?.contains(entity) == true {
        let key = properties.compactMap { thing.values[$0] }
        guard key.count == properties.count else { continue }
        if let other = holders.updateValue(id, forKey: key) {
          fail("keys", "\(names(id)) and \(names(other)) have one \(properties): \(key)")
        }
      }
    }
    return failures.sorted { $0.text < $1.text }
  }
}

/// What must have become of every edit, when all is quiet.
struct EditLaws {
  let image: Image
  let traits: Traits
  let ledger: Ledger
  let scenario: Scenario
  let names: (UUID) -> String
  /// Whether the times of edits stay what they were when they were saved.
  let hasPlainTimes: Bool

  /// - Returns: the failures, and the edits that are accounted for.
  func check() -> (failures: [Failure], settled: [Int]) {
    var failures: [Failure] = []
    var settled: [Int] = []
    for (place, indexes) in ledger.editsAt {
      guard let entity = ledger.lives[place.object]?.entity,
        let kind = traits.kind(entity, place.property)
      else { continue }
      // Programs of two names take them for two properties, and none of the two laws knows both.
      if scenario.hasRenames, GeneratedModel.renamed.contains(place.property) { continue }
      let isAlive = image.things[place.object] != nil
      if case .attribute(.counter) = kind {
        if isAlive { failures += checkCounter(place, indexes) }
        continue
      }
      for index in indexes {
        if isAccountedFor(ledger.edits[index], entity: entity, isAlive: isAlive) {
          settled.append(index)
        } else {
          failures.append(
            Failure(
              law: "edits",
              text: "\(tell(index)) is neither there (\(shown(place))) nor in a journal"))
        }
      }
      if isAlive, case .attribute(.lastWriterWins) = kind {
        failures += checkLastWriter(place, indexes)
      }
    }
    failures += checkElements()
    if scenario.looksForCuts {
      failures += RevivedLaw(image: image, traits: traits, ledger: ledger, names: names).check()
    }
    failures += OrderLaws(image: image, traits: traits, ledger: ledger, names: names).check()
    failures += checkLives()
    failures += checkBuried()
    return (failures.sorted { $0.text < $1.text }, settled)
  }

  private func isAccountedFor(_ edit: Ledger.Edit, entity: String, isAlive: Bool) -> Bool {
    if edit.isSuperseded || edit.isExcused || edit.isSettled { return true }
    // No model here has it for now.
    if edit.place.property == GeneratedModel.dropped,
      traits.kind(entity, GeneratedModel.dropped) == nil
    {
      return true
    }
    if image.value(edit.place.object, edit.place.property) == edit.after { return true }
    if ledger.isJournaled(edit.place, edit.after) { return true }
    // Of an object that several people made, what one of them said stands.
    if edit.isBeginning, (ledger.lives[edit.place.object]?.inserts ?? 0) > 1 { return true }
    if !scenario.journalsCuts, let target = Image.identities(in: edit.after).first,
      (ledger.lives[target]?.deletes ?? 1) > 0
    {
      return true
    }
    // Of two that a copy of a store made under one identity, one has another by now.
    if !GivenIdentities.isGiven(edit.place.object),
      (ledger.lives[edit.place.object]?.inserts ?? 0) > 1,
      image.things.values.contains(where: {
        $0.values[edit.place.property] == edit.after
      })
    {
      return true
    }
    if !isAlive {
      // An object that became one with another: its values live there.
      if traits.isKeyed(entity),
        image.things.values.contains(where: { $0.values[edit.place.property] == edit.after })
          || ledger.journaled.contains(where: { place, texts in
            place.property == edit.place.property && texts.contains(edit.after)
          })
      {
        return true
      }
      return ledger.isNamed(edit.place.object)
    }
    // It became one with another for whom set it, and others had it as it was.
    if traits.isKeyed(entity),
      ledger.isNamed(edit.place.object),
      image.things.values.contains(where: { $0.values[edit.place.property] == edit.after })
    {
      return true
    }
    if edit.after == Image.null, ledger.journaled[edit.place] != nil { return true }
    if let target = Image.identities(in: edit.after).first, image.things[target] == nil,
      traits.isKeyed(ledger.lives[target]?.entity ?? ""),
      // It became one with another, to which the reference follows, or which was deleted since.
      image.value(edit.place.object, edit.place.property) != Image.null
        || ledger.isNamed(target)
    {
      return true
    }
    return edit.after == Image.null && ledger.isNamed(edit.place.object)
  }

  /// By time alone: the newest edit's value stands.
  private func checkLastWriter(_ place: Ledger.Place, _ indexes: [Int]) -> [Failure] {
    let edits = indexes.map { ledger.edits[$0] }
    guard hasPlainTimes, !ledger.fuzzy.contains(place.object),
      ledger.lives[place.object]?.deletes == 0, ledger.lives[place.object]?.inserts == 1,
      !edits.contains(where: { $0.isExcused }),
      !traits.isKeyed(ledger.lives[place.object]?.entity ?? ""),
      let last = indexes.max(by: { ledger.edits[$0].time < ledger.edits[$1].time })
    else { return [] }
    let value = image.value(place.object, place.property)
    let newest = ledger.edits[last].after
    guard value != newest else { return [] }
    // Not sent when a migration took it.
    if place.property == GeneratedModel.dropped,
      ledger.journaled[place]?.contains(newest) == true
    {
      return []
    }
    // A delete took the object along, with that edit, and an edit of another replica brought it back.
    if ledger.isNamed(place.object),
      ledger.journaled[place]?.contains(newest) == true
    {
      return []
    }
    return [
      Failure(law: "last writer", text: "\(tell(last)) is the newest, but \(value) is there")
    ]
  }

  /// The sum of all differences; of what a restore may have taken, any part.
  private func checkCounter(_ place: Ledger.Place, _ indexes: [Int]) -> [Failure] {
    guard !ledger.fuzzy.contains(place.object), ledger.lives[place.object]?.inserts == 1,
      ledger.lives[place.object]?.deletes == 0,
      !traits.isKeyed(ledger.lives[place.object]?.entity ?? "")
    else { return [] }
    var sums: Set<Decimal> = [0]
    for index in indexes {
      let edit = ledger.edits[index]
      let step = Self.number(edit.after) - Self.number(edit.before)
      let moved = sums.map { $0 + step }
      sums = edit.isExcused ? sums.union(moved) : Set(moved)
    }
    let value = image.value(place.object, place.property)
    // A bound, or the later of two totals: what was left out is named.
    guard !sums.contains(Self.number(value)), ledger.journaled[place] == nil else { return [] }
    let wanted = sums.sorted().map { "\($0)" }.joined(separator: " or ")
    return [
      Failure(
        law: "counters",
        text: "\(names(place.object)).\(place.property) is \(value), its edits make \(wanted): "
          + indexes.map(tell).joined(separator: "; "))
    ]
  }

  private static func number(_ text: String) -> Decimal {
    Decimal(string: text.filter { $0 != "\"" }) ?? 0
  }

  /// Sets contain what was added and not removed.
  private func checkElements() -> [Failure] {
    var failures: [Failure] = []
    for (place, all) in ledger.elements {
      guard image.things[place.object] != nil, !ledger.fuzzy.contains(place.object),
        let life = ledger.lives[place.object], life.deletes == 0, !traits.isKeyed(life.entity),
        let kind = traits.kind(life.entity, place.property)
      else { continue }
      let value = image.value(place.object, place.property)
      let present =
        kind == .elements
        ? Set(Image.identities(in: value).map(Image.text(of:))) : Image.words(in: value)
      for (element, events) in all {
        if events.contains(where: { $0.isExcused }) { continue }
        if kind == .elements {
          guard let target = Image.identities(in: element).first, image.things[target] != nil,
            ledger.lives[target]?.deletes == 0, !ledger.fuzzy.contains(target),
            !traits.isKeyed(ledger.lives[target]?.entity ?? "")
          else { continue }
        }
        let isAlwaysAdded = events.allSatisfy(\.isAdd)
        let isOneHost = Set(events.map(\.host)).count == 1
        let last = events.max { $0.time < $1.time }
        let name = "\(names(place.object)).\(place.property)"
        if isAlwaysAdded || (isOneHost && last?.isAdd == true) {
          let isNamed =
            kind == .attribute(GeneratedModel.together)
            ? ledger.isOutdone(place, element) : ledger.isJournaled(place, element)
          if !present.contains(element), !isNamed {
            failures.append(
              Failure(
                law: "sets", text: "\(name) lost \(told(element)), which nobody removed: \(value)"))
          }
        } else if kind != .attribute(.text), isOneHost, last?.isAdd == false {
          if present.contains(element), !ledger.isJournaled(place, element) {
            failures.append(
              Failure(
                law: "sets", text: "\(name) has \(told(element)), which was removed: \(value)"))
          }
        }
      }
    }
    return failures
  }

  /// What went when the zone was replaced does not come back by itself.
  private func checkBuried() -> [Failure] {
    ledger.buried.compactMap { id in
      guard image.things[id] != nil, !ledger.fuzzy.contains(id) else { return nil }
      return Failure(
        law: "replaced", text: "\(names(id)) is there, though the zone was replaced since")
    }
  }

  /// What was made and not deleted is there; what was deleted is not, where the delete wins.
  private func checkLives() -> [Failure] {
    var failures: [Failure] = []
    for (id, life) in ledger.lives where !life.isExcused && !ledger.fuzzy.contains(id) {
      let isThere = image.things[id] != nil
      if let kept = ledger.kept[id] {
        if !isThere, life.lastDelete?.moment ?? 0 <= kept.moment, !ledger.isNamed(id) {
          failures.append(
            Failure(law: "kept", text: "\(names(id)) is gone, though its delete was not meant"))
        }
        continue
      }
      if life.deletes == 0, life.inserts > 0, !isThere, !ledger.isNamed(id) {
        failures.append(
          Failure(law: "lives", text: "\(names(id)) is gone, though nobody deleted it"))
      }
      if life.deletes > 0, life.inserts <= 1, isThere, !traits.editWins.contains(life.entity),
        !scenario.hasDeleteRules, !ledger.isNamed(id)
      {
        failures.append(Failure(law: "lives", text: "\(names(id)) is there, though it was deleted"))
      }
    }
    return failures
  }

  private func shown(_ place: Ledger.Place) -> String {
    guard image.things[place.object] != nil else { return "the object is gone" }
    return told(image.value(place.object, place.property))
  }

  private func tell(_ index: Int) -> String {
    let edit = ledger.edits[index]
    return "host \(edit.host)'s \(names(edit.place.object)).\(edit.place.property) "
      + "\(told(edit.before)) → \(told(edit.after)) at \(edit.time >> 16)"
  }

  /// Identities by their short names.
  private func told(_ text: String) -> String {
    var text = text
    for id in Image.identities(in: text) {
      text = text.replacingOccurrences(of: id.uuidString.lowercased(), with: names(id))
    }
    return text
  }
}
