import Driftless
import Foundation

/// A reference to an object that the file has not inserted yet.
struct AwaitedReference {
  /// What it is of.
  struct Place: Hashable {
    var owner: UUID
    var property: String
  }

  let owner: EntityDescription
  let ownerIdentity: UUID?
  let property: String
  let destination: EntityDescription
  let id: String
  let line: Int
  let target: UUID
  /// What a to-one relationship goes on to have until then: a line that sets it from its other end meanwhile has the later word.
  var former: UUID?

  var name: String { "\(owner.name).\(property)" }

  var place: Place? { ownerIdentity.map { Place(owner: $0, property: property) } }
}

/// The references that are open, by what they name and by what they are of.
struct AwaitedReferences {
  private var byTarget: [UUID: [AwaitedReference]] = [:]
  private var targets: [AwaitedReference.Place: Set<UUID>] = [:]
  /// How many are of each line.
  private var counts: [Int: Int] = [:]
  /// Those lines, and behind the first some that none are of any more.
  private var lines: ArraySlice<Int> = []

  init() {}

  init(_ references: [AwaitedReference]) {
    for reference in references { add(reference) }
  }

  var isEmpty: Bool { byTarget.isEmpty }

  /// The first line that has one.
  var firstLine: Int? { lines.first }

  mutating func add(_ reference: AwaitedReference) {
    byTarget[reference.target, default: []].append(reference)
    if let place = reference.place { targets[place, default: []].insert(reference.target) }
    let line = reference.line
    counts[line, default: 0] += 1
    guard counts[line] == 1 else { return }
    // Nearly all come in the order of their lines.
    let place = lines.lastIndex { $0 <= line }
    if place.map({ lines[$0] == line }) != true {
      lines.insert(line, at: place.map { $0 + 1 } ?? lines.startIndex)
    }
  }

  /// Takes those out that name an object.
  mutating func take(_ target: UUID) -> [AwaitedReference] {
    let taken = byTarget.removeValue(forKey: target) ?? []
    for reference in taken { forget(reference) }
    return taken
  }

  /// Takes those out that name what lines insert, in the order of the lines that have them.
  mutating func take(insertedBy lines: [ImportLine], _ shapes: ImportShapes) -> [AwaitedReference] {
    guard !isEmpty else { return [] }
    var taken: [AwaitedReference] = []
    for line in lines {
      guard let made = line.operation.insertion,
        let shape = try? shapes.shape(made.entity, line.number)
      else { continue }
      taken += take(NamedIdentity.identity(made.id, of: shape.entity))
    }
    return taken.sorted { $0.line < $1.line }
  }

  /// Lets go of those that later lines have overruled.
  ///
  /// - Parameter words: the last lines that set properties.
  mutating func drop(overruledBy words: [AwaitedReference.Place: Int]) {
    guard !isEmpty else { return }
    for (place, line) in words {
      for target in targets[place] ?? [] {
        let (gone, left) = (byTarget[target] ?? []).reduce(
          into: ([AwaitedReference](), [AwaitedReference]())
        ) {
          if $1.place == place, $1.line < line { $0.0.append($1) } else { $0.1.append($1) }
        }
        byTarget[target] = left.isEmpty ? nil : left
        for reference in gone { forget(reference) }
      }
    }
  }

  private mutating func forget(_ reference: AwaitedReference) {
    if let place = reference.place,
      byTarget[reference.target]?.contains(where: { $0.place == place }) != true
    {
      targets[place]?.remove(reference.target)
      if targets[place]?.isEmpty == true { targets[place] = nil }
    }
    counts[reference.line, default: 1] -= 1
    if counts[reference.line] == 0 { counts[reference.line] = nil }
    while let first = lines.first, counts[first] == nil { lines.removeFirst() }
  }
}
