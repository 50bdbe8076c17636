import Driftless
import DriftlessProtocol
import Foundation

extension ZoneVerification {
  /// What is gathered of a comparison.
  struct Gathered {
    var shown: DigestTree
    var said: DigestTree
    var columns: ComparedColumns
    var report = VerifyReport()
    /// Whether the server may tell digests of single objects.
    var asksForCells = true
    /// The damaged values among the differences that the report tells, with their places there.
    var damaged: [Damaged: Int] = [:]

    struct Damaged: Hashable {
      var object: UUID
      var property: String?
    }
  }
}

extension ZoneVerification.Gathered {
  /// Whether the report tells of a difference of a kind, and does not count it alone.
  func tells(_ kind: VerifyReport.Difference.Kind) -> Bool {
    report.hasRoom || kind == .value && !damaged.isEmpty
  }

  /// Counts a difference, which is made only where the report tells of it.
  mutating func add(
    _ kind: VerifyReport.Difference.Kind, isRepaired: Bool,
    _ difference: () throws -> VerifyReport.Difference
  ) rethrows {
    add(kind, isRepaired: isRepaired, try tells(kind) ? difference() : nil)
  }

  mutating func add(
    _ kind: VerifyReport.Difference.Kind, isRepaired: Bool, _ difference: VerifyReport.Difference?
  ) {
    guard let difference else { return report.count(isRepaired: isRepaired) }
    let place = Damaged(object: difference.object, property: difference.property)
    if kind == .value, let number = damaged[place] {
      return report.join(difference, to: number)
    }
    if kind == .damaged, report.hasRoom { damaged[place] = report.differences.count }
    report.add(difference)
  }
}
