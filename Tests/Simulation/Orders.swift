import Foundation

/// Where people put the elements of ordered relationships, and what each of them knew of what others did: a move that nobody
/// else could have been against has to stand.
struct Orders {
  /// What has one place: an element of a one-to-many, or all of a many-to-many's list, whose later order stands.
  struct Spot: Hashable {
    var object: UUID
    var property: String
  }

  /// A save's transaction on its host, and how many there were before it.
  typealias Save = (transaction: Int64, moment: Int)

  /// A save that changed places.
  private struct Touch {
    var host: Int
    var save: Save
    /// The touches that its host knew of; nil where it may not have known all of before.
    var known: Set<Int>?
    /// The lists that it changed, as it left them.
    var lists: [Spot: [UUID]] = [:]
    var isExcused = false
  }

  private var touches: [Touch] = []
  private var at: [Spot: [Int]] = [:]
  /// What each host knows of the touches; nil where it may be behind what was quiet.
  private var known: [Int: Set<Int>?] = [:]
  private var backups: [Int: [(quiet: Int, known: Set<Int>?)]] = [:]
  /// How often all was quiet.
  private var quiet = 0
  /// What everybody showed then.
  private(set) var start = Image()
  /// Whether hosts are still to hear that the zone is another one.
  var isVoid = false

  // MARK: - Writing down

  /// All is quiet: everybody knows everything.
  mutating func begin(_ image: Image) {
    touches = []
    at = [:]
    known = known.mapValues { _ in [] }
    quiet += 1
    start = image
    isVoid = false
  }

  /// A host comes that has nothing of what was quiet.
  mutating func join(_ host: Int) { known[host] = .some(quiet == 0 ? [] : nil) }

  mutating func clone(_ host: Int, as number: Int) {
    known[number] = known[host]
    backups[number] = []
  }

  mutating func backUp(_ host: Int) {
    backups[host, default: []].append((quiet, known[host] ?? nil))
  }

  /// - Parameter copy: nil for one that is no copy of all that the host had at one moment.
  mutating func restore(_ host: Int, to copy: Int?) {
    guard let copy, let backup = backups[host]?[copy] else {
      backups[host] = []
      known[host] = .some(nil)
      return
    }
    known[host] = .some(backup.quiet == quiet ? backup.known : nil)
  }

  mutating func excuse(host: Int, after transaction: Int64, since moment: Int) {
    for index in touches.indices
    where touches[index].host == host
      && (touches[index].save.transaction > transaction || touches[index].save.moment > moment)
    {
      touches[index].isExcused = true
    }
  }

  mutating func note(
    _ host: Int, _ save: Save, _ before: Image, _ after: Image, _ traits: Traits
  ) {
    var touch = Touch(host: host, save: save, known: known[host] ?? nil)
    var spots: Set<Spot> = []
    for id in Set(before.things.keys).union(after.things.keys) {
      let entity = after.things[id]?.entity ?? before.things[id]?.entity ?? ""
      for (property, inverse) in traits.ordered[entity] ?? [:] {
        let was = Image.identities(in: before.value(id, property))
        let now = Image.identities(in: after.value(id, property))
        guard was != now else { continue }
        let list = Spot(object: id, property: property)
        touch.lists[list] = now
        guard let inverse else {
          spots.insert(list)
          continue
        }
        for element in Self.moved(was, now) {
          spots.insert(Spot(object: element, property: inverse))
        }
      }
    }
    guard !spots.isEmpty else { return }
    for spot in spots { at[spot, default: []].append(touches.count) }
    known[host] = .some(touch.known?.union([touches.count]))
    touches.append(touch)
  }

  /// What came, what went, and what stands otherwise to any other.
  private static func moved(_ was: [UUID], _ now: [UUID]) -> Set<UUID> {
    var moved = Set(was).symmetricDifference(now)
    let places = Dictionary(uniqueKeysWithValues: was.enumerated().map { ($1, $0) })
    let both = now.filter { places[$0] != nil }
    for (index, one) in both.enumerated() {
      for other in both[..<index] where (places[other] ?? 0) > (places[one] ?? 0) {
        moved.formUnion([one, other])
      }
    }
    return moved
  }

  // MARK: - Reading

  /// The list as the last of those left it who had a hand in some spots, where it knew all of theirs; as it was when all was
  /// quiet, where nobody had a hand in them. Nil where nothing can be said.
  func order(of list: Spot, _ spots: [Spot]) -> [UUID]? {
    guard !isVoid else { return nil }
    let all = Set(spots.flatMap { at[$0] ?? [] })
    guard let last = all.max() else {
      return start.things[list.object] == nil
        ? nil : Image.identities(in: start.value(list.object, list.property))
    }
    guard !all.contains(where: { touches[$0].isExcused }), let known = touches[last].known,
      known.isSuperset(of: all.subtracting([last]))
    else { return nil }
    return touches[last].lists[list]
  }
}

/// A move that was made in view of all others of the same elements stands, or a journal names it.
struct OrderLaws {
  let image: Image
  let traits: Traits
  let ledger: Ledger
  let names: (UUID) -> String

  func check() -> [Failure] {
    var failures: [Failure] = []
    for (id, thing) in image.things where isPlain(id) {
      for (property, inverse) in traits.ordered[thing.entity] ?? [:] {
        let elements = Image.identities(in: image.value(id, property)).filter(isPlain)
        let list = Orders.Spot(object: id, property: property)
        guard elements.count > 1, !isJournaled(id, [property]) else { continue }
        for (place, second) in elements.enumerated() {
          for first in elements[..<place] {
            let spots =
              inverse.map { name in
                [first, second].map { Orders.Spot(object: $0, property: name) }
              } ?? [list]
            guard let order = ledger.orders.order(of: list, spots),
              let one = order.firstIndex(of: first), let other = order.firstIndex(of: second),
              one > other, !isJournaled(first, [inverse ?? ""]),
              !isJournaled(second, [inverse ?? ""])
            else { continue }
            failures.append(
              Failure(
                law: "order",
                text: "\(names(id)).\(property) has \(names(first)) before \(names(second)): it is "
                  + "\(elements.map(names)), and was left as \(order.map(names))"))
          }
        }
      }
    }
    return failures
  }

  private func isPlain(_ id: UUID) -> Bool {
    guard let life = ledger.lives[id] else { return false }
    return life.deletes == 0 && life.inserts == 1 && !life.isExcused && !ledger.fuzzy.contains(id)
      && !traits.isKeyed(life.entity)
  }

  private func isJournaled(_ id: UUID, _ properties: [String]) -> Bool {
    (properties + properties.map { $0 + "#place" } + [""]).contains {
      ledger.journaledLately.contains(Ledger.Place(object: id, property: $0))
    }
  }
}
