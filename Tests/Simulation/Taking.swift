import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation

/// What one object at a time can have, given to another while nobody looks.
extension Simulation {
  /// A person gives an object here what one has on another replica.
  func take(_ host: Host, _ dice: UInt64) throws {
    guard let other = other(than: host, dice) else { return }
    let theirs = other.image
    try save(host, dice) { saves, context, image in
      _ = try saves.take(context, image, from: theirs)
    }
  }

  func other(than host: Host, _ dice: UInt64) -> Host? {
    let others = hosts.filter { $0 !== host }
    return others.isEmpty ? nil : others[Int(dice % UInt64(others.count))]
  }

  /// A host sends what only one object can have, the server forgets it, and another host gives it to another object.
  func lose(_ host: Host, _ dice: UInt64) async throws {
    guard let other = other(than: host, dice) else { return }
    var generator = SeededGenerator(seed: dice &+ 31)
    tell("the server is backed up")
    try server.backup()
    let copy = UInt64(server.backupCount - 1)
    var claimed: UUID?
    try save(host, dice) { saves, context, image in
      claimed =
        scenario.hasAccepts
        ? try saves.number(context, image) : try saves.claim(context, image)
    }
    let theirs = host.image
    host.network.begin(dice: dice)
    try await sync(host, Step(.sync, host.number, dice))
    if scenario.hasAccepts {
      for one in hosts where one !== host && one !== other {
        try await sync(one, Step(.sync, one.number, dice))
        try accept(one, dice)
      }
    }
    let isDeleted = generator.chance(40)
    if generator.chance(60) {
      try save(host, dice &+ 1) { saves, context, image in
        guard isDeleted, let claimed, let object = try context.object(withIdentity: claimed) else {
          return try saves.change(context, image)
        }
        context.delete(object)
        saves.told.append("deletes what it claimed")
      }
    }
    try restoreServer(copy)
    let isEdited = generator.chance(60)
    try save(other, dice &+ 2) { saves, context, image in
      if scenario.hasAccepts { _ = try saves.number(context, image) }
      _ = try saves.take(context, image, from: theirs)
      if isEdited, let claimed { try saves.set(context, claimed) }
    }
    other.network.begin(dice: dice)
    try await sync(other, Step(.sync, other.number, dice))
  }

  /// What is done twice to one thing, with a copy of the file between that sends what was done first.
  func part(_ host: Host, _ dice: UInt64) async throws {
    var generator = SeededGenerator(seed: dice &+ 53)
    var thing: UUID?
    try save(host, dice) { saves, context, image in
      thing = try saves.again(context, image, nil)
    }
    let copy = try scenario.hasStoreRestores ? nil : clone(host)
    if copy == nil {
      guard scenario.hasStoreRestores else { return }
      try backUp(host)
    }
    if generator.chance(50), let other = other(than: host, dice), other !== copy {
      try save(other, dice &+ 1) { saves, context, image in
        _ = try saves.again(context, image, thing)
      }
      try await sync(other, Step(.sync, other.number, dice))
    }
    let sender = copy ?? host
    sender.network.begin(dice: dice)
    try await sync(sender, Step(.sync, sender.number, dice))
    if copy == nil { try await restore(host, to: host.backups.count - 1, dice) }
    try save(host, dice &+ 2) { saves, context, image in
      _ = try saves.again(context, image, thing)
    }
  }

  // MARK: - What is set aside

  /// Where a host has values set aside: its model has no room for them, it has no key, or the zone does not have their bytes.
  func hidden(_ host: Host) throws -> Set<Ledger.Place> {
    guard scenario.hasNarrowModels || scenario.hasLostKeys || scenario.hasLargeValues else {
      return []
    }
    let waiting = try SyncEngine.awaitedValues(of: host.store).map {
      Ledger.Place(object: $0.object, property: $0.property)
    }
    return Set(
      try SyncEngine.parked(of: host.store).compactMap { entry in
        guard let object = entry.object, let property = entry.property else { return nil }
        return Ledger.Place(object: object, property: property)
      }
    ).union(waiting)
  }

  func accept(_ host: Host, _ dice: UInt64) throws {
    let parked = try SyncEngine.parked(of: host.store)
    guard !parked.isEmpty else { return }
    let one = parked[Int(dice % UInt64(parked.count))].sequence
    let sequence = dice % 2 == 0 ? nil : one
    let chains = try host.chains
    for entry in parked where sequence == nil || entry.sequence == sequence {
      guard let chain = chains[entry.sequence] else { continue }
      host.accepted[entry.sequence, default: []].insert(chain)
    }
    tell("\(host.name) accepts \(sequence.map { "entry \($0)" } ?? "all") that is set aside")
    try SyncEngine.acceptParked(of: host.store, sequence: sequence)
  }

  /// What counts as accepted is what a person saw when it was.
  func checkAccepted(_ host: Host) throws {
    guard scenario.hasAccepts, !host.accepted.isEmpty else { return }
    let parked = try SyncEngine.parked(of: host.store).filter { $0.isAccepted && $0.names.isEmpty }
    guard !parked.isEmpty else { return }
    let chains = try host.chains
    for entry in parked {
      guard let chain = chains[entry.sequence],
        host.accepted[entry.sequence]?.contains(chain) != true
      else { continue }
      fail("accepted", "\(host.name): nobody accepted entry \(entry.sequence): \(entry.reason)")
    }
  }
}

extension Saves {
  /// What one object at a time can have: a key's properties, a partner, a parent.
  private enum Claim {
    case key([String: PropertyValue])
    case reference(String, UUID)
  }

  /// Gives another object what one has in another image.
  ///
  /// - Returns: which one gets it.
  mutating func take(
    _ context: ManagedObjectContext, _ image: Image, from theirs: Image
  ) throws -> UUID? {
    let living = image.things.keys.sorted { names($0) < names($1) }
    var claims: [(Claim, takers: [UUID], isNews: Bool)] = []
    for id in theirs.things.keys.sorted(by: { names($0) < names($1) }) {
      guard let thing = theirs.things[id] else { continue }
      let others = living.filter { $0 != id && image.things[$0]?.entity == thing.entity }
      for key in traits.keys where traits.kin[thing.entity]?.contains(key.entity) == true {
        var values: [String: PropertyValue] = [:]
        for name in key.properties { values[name] = Self.parsed(thing.values[name]) }
        guard values.count == key.properties.count, !others.isEmpty else { continue }
        let isNews = key.properties.contains { image.value(id, $0) != thing.values[$0] }
        claims.append((.key(values), others, isNews))
      }
      for (entity, name) in traits.oneToOne + traits.trees
      where traits.kin[thing.entity]?.contains(entity) == true {
        guard let target = Image.identities(in: thing.values[name] ?? "").first,
          image.things[target] != nil
        else { continue }
        let isNews = image.value(id, name) != thing.values[name]
        let isTree = traits.trees.contains { $0.entity == entity && $0.property == name }
        if isTree, image.things[id] != nil {
          claims.append((.reference(name, id), [target], isNews))
        } else if !isTree, !others.isEmpty {
          claims.append((.reference(name, target), others, isNews))
        }
      }
    }
    let news = claims.filter(\.isNews)
    guard let (claim, takers, _) = pick(news.isEmpty ? claims : news), let taker = pick(takers)
    else { return nil }
    return try give(claim, to: taker, context) ? taker : nil
  }

  private mutating func give(
    _ claim: Claim, to taker: UUID, _ context: ManagedObjectContext
  ) throws -> Bool {
    guard let object = try context.object(withIdentity: taker) else { return false }
    switch claim {
    case .key(let values):
      for (name, value) in values.sorted(by: { $0.key < $1.key }) {
        try object.setValue(value, forKey: name)
        told.append("gives \(names(taker)).\(name) \(value)")
      }
    case .reference(let name, let target):
      guard let other = try context.object(withIdentity: target), other !== object else {
        return false
      }
      let isTree = object.entity.relationshipsByName[name]?.userInfo["driftless.tree"] != nil
      if isTree, try closesRing(object, other, name) { return false }
      try object.setValue(other, forKey: name)
      told.append("gives \(names(taker)).\(name) \(names(target))")
    }
    return true
  }

  private static func parsed(_ text: String?) -> PropertyValue? {
    guard let text, text != Image.null else { return nil }
    return text.first == "\"" ? .string(Image.unquoted(text)) : Int64(text).map { .integer($0) }
  }

  /// Gives an object a key, a partner or a parent that no other one has here.
  ///
  /// - Returns: which one gets it.
  mutating func claim(_ context: ManagedObjectContext, _ image: Image) throws -> UUID? {
    let living = image.things.keys.sorted { names($0) < names($1) }
    var claims: [(Claim, UUID)] = []
    for id in living {
      guard let entity = image.things[id]?.entity, let kin = traits.kin[entity] else { continue }
      for key in traits.keys where kin.contains(key.entity) {
        let isText = key.properties.allSatisfy {
          model.entitiesByName[entity]?.attributesByName[$0]?.type == .string
        }
        let number = Int64(generator.next() % 4)
        let value: PropertyValue = isText ? .string("v\(number)") : .integer(number)
        var values: [String: PropertyValue] = [:]
        for name in key.properties { values[name] = value }
        claims.append((.key(values), id))
      }
      for (owner, name) in traits.oneToOne + traits.trees where kin.contains(owner) {
        let relationship = model.entitiesByName[entity]?.relationshipsByName[name]
        let targets = living.filter {
          $0 != id
            && traits.kin[image.things[$0]?.entity ?? ""]?.contains(
              relationship?.destinationEntity?.name ?? "") == true
        }
        if let target = pick(targets) { claims.append((.reference(name, target), id)) }
      }
    }
    guard let (claim, id) = pick(claims) else { return nil }
    return try give(claim, to: id, context) ? id : nil
  }

  /// Sets a text of an object that is not part of a key.
  mutating func set(_ context: ManagedObjectContext, _ id: UUID) throws {
    guard let object = try context.object(withIdentity: id), !object.isDeleted else { return }
    let entity = object.entity.name
    guard
      let name = ["title", "name"].first(where: {
        object.entity.attributesByName[$0] != nil && !traits.isKey(entity, $0)
      })
    else { return }
    nextValue += 1
    let value: PropertyValue = .string("v\(nextValue)")
    try object.setValue(value, forKey: name)
    told.append("sets \(names(id)).\(name) v\(nextValue)")
  }

  /// Does to a thing what can be done to it again and again; nil for any.
  ///
  /// - Returns: the thing.
  mutating func again(
    _ context: ManagedObjectContext, _ image: Image, _ thing: UUID?
  ) throws -> UUID? {
    let living = image.things.keys.sorted { names($0) < names($1) }
    if scenario.hasMoves { return try move(context, living, thing) }
    let items = living.filter { traits.kind(image.things[$0]?.entity ?? "", "gathered") != nil }
    guard let id = thing ?? pick(items), let object = try context.object(withIdentity: id),
      !object.isDeleted
    else { return nil }
    let value = self.value(
      object.entity.name, "gathered", GeneratedModel.together, now: image.value(id, "gathered"))
    try object.setValue(value, forKey: "gathered")
    told.append("sets \(names(id)).gathered \(value)")
    return id
  }

  /// Sets a number that programs of the first version may have no room for.
  mutating func number(_ context: ManagedObjectContext, _ image: Image) throws -> UUID? {
    let living = image.things.keys.sorted { names($0) < names($1) }
    guard let id = pick(living.filter { image.things[$0]?.entity == "Part" }),
      let object = try context.object(withIdentity: id),
      let type = object.entity.attributesByName["amount"]?.type
    else {
      _ = try context.insert(entityNamed: "Part")
      return nil
    }
    nextValue += 1
    let value: PropertyValue = .integer(Int64(nextValue) + (type == .integer64 ? 100_000 : 0))
    try object.setValue(value, forKey: "amount")
    told.append("sets \(names(id)).amount \(value)")
    return id
  }

  /// Moves one element of an ordered relationship to another place in it.
  ///
  /// - Parameter element: which one, where it is in one; nil for any.
  /// - Returns: which one was moved; nil where there was none to move.
  mutating func move(
    _ context: ManagedObjectContext, _ living: [UUID], _ element: UUID? = nil
  ) throws -> UUID? {
    var lists: [(ManagedObject, String, [ManagedObject])] = []
    let wanted = try element.flatMap { try context.object(withIdentity: $0) }
    for id in living {
      guard let object = try context.object(withIdentity: id), !object.isDeleted else { continue }
      for name in (traits.ordered[object.entity.name] ?? [:]).keys.sorted() {
        guard let members = try object.value(forKey: name) as? [ManagedObject], members.count > 1,
          wanted.map({ one in members.contains { $0 === one } }) ?? true
        else { continue }
        lists.append((object, name, members))
      }
    }
    guard let (object, name, all) = pick(lists) else { return nil }
    var members = all
    let from =
      members.firstIndex { $0 === wanted } ?? Int(generator.next() % UInt64(members.count))
    let moved = members.remove(at: from)
    members.insert(moved, at: Int(generator.next() % UInt64(members.count + 1)))
    try object.setValue(members, forKey: name)
    told.append("moves in a \(name) of \(members.count)")
    return try moved.identity
  }
}
