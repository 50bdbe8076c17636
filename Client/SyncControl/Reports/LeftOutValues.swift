import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

/// The values of a store that its lines leave out, since they cannot be read: each is told on standard error, as far as they are few.
struct LeftOutValues {
  /// A property of an object, as lines name them.
  struct Place: Hashable {
    var id: String
    var property: String
  }

  private let store: String
  private let output: OutputOptions
  private(set) var places: Set<Place> = []
  private var broken = 0
  private var lost = 0

  /// - Parameter store: its path.
  init(_ store: String, _ output: OutputOptions) {
    self.store = store
    self.output = output
  }

  var isEmpty: Bool { broken + lost == 0 }

  /// Values that are told one by one.
  private static let toldMax = 20

  /// A large value whose file is gone.
  mutating func note(_ cell: ReplicaExport.LostCell) {
    lost += 1
    let id = cell.identity.uuidString.lowercased()
    places.insert(Place(id: id, property: cell.property))
    guard lost <= Self.toldMax else { return }
    output.note(
      "\(cell.entity).\(cell.property) of \(id) lies in a file that is gone, cut off, or cannot be read. It is left out."
    )
  }

  /// What stands in a column and is no value of its property.
  mutating func note(_ value: BrokenValue, _ transaction: ReadTransaction) throws {
    broken += 1
    if let name = transaction.schema.entity(numbered: value.key.entity)?.layout.slots[value.slot]
      .name
    {
      let id = try transaction.identity(of: value.key).uuidString.lowercased()
      places.insert(Place(id: id, property: name))
    }
    if broken <= Self.toldMax {
      output.note(try value.sentence(transaction) + " It is left out.")
    }
  }

  /// Says how many more there are, and what to do.
  func finish() {
    if broken > Self.toldMax {
      advise("\(broken - Self.toldMax) more values cannot be read: syncctl store check FILE")
    }
    if broken > 0 { advise(BrokenValue.advice) }
    if lost > Self.toldMax {
      advise("\(lost - Self.toldMax) more are lost so: syncctl store give-up-lost FILE names all")
    }
    if lost > 0 {
      advise(
        "Put the files back from a copy of the folder of large values, or take what the zone has: syncctl verify --repair"
      )
    }
  }

  private func advise(_ text: String) {
    output.note(AdvisedCommand.naming(store: store, in: text))
  }
}
