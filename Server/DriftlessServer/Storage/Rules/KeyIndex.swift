import DriftlessProtocol
import Foundation

/// Which living object of a zone holds which unique key.
///
/// An object holds one key a constraint. It lets it go when it is deleted or revived, when it claims
/// another, or when a property of the constraint is set without a claim. Within a push all that is
/// let go of goes before anything is taken. A zone without claims costs one look.
struct KeyIndex<Tables: ZoneTables> {
  let tables: Tables
  let zone: Int64
  /// What the pushing replica knows of objects.
  let objects: ObjectIndex<Tables>

  /// - Parameter firstNumber: The number of the push's first new object.
  func apply(
    _ contents: Push.Contents, firstNumber: UInt64, stale: inout StaleObjects
  ) throws {
    let hasClaims = try tables.hasClaims(zone: zone)
    guard hasClaims || !contents.claims.isEmpty else { return }
    if hasClaims { try release(contents) }
    try claim(contents, firstNumber: firstNumber, &stale)
  }

  // MARK: - Letting go

  /// Lets go of what a part of a push lets go of, before another part of it takes something.
  func letGo(_ contents: Push.Contents) throws {
    if try tables.hasClaims(zone: zone) { try release(contents) }
  }

  private func release(_ contents: Push.Contents) throws {
    for touch in contents.touches {
      let set = Set(touch.properties)
      for object in touch.objects {
        for held in try tables.keys(of: object, zone: zone)
        where touch.kind != .update || !set.isDisjoint(with: held.constraint.properties) {
          try tables.letGo(held.hash, zone: zone)
        }
      }
    }
    for claims in contents.claims {
      for case (.known(let object), _) in claims.keys {
        for held in try tables.keys(of: object, zone: zone)
        where held.constraint == claims.constraint {
          try tables.letGo(held.hash, zone: zone)
        }
      }
    }
  }

  // MARK: - Taking

  private func claim(
    _ contents: Push.Contents, firstNumber: UInt64, _ stale: inout StaleObjects
  ) throws {
    for claims in contents.claims {
      for (holder, hash) in claims.keys {
        let object =
          switch holder {
          case .new(let place): firstNumber + place
          case .known(let number): number
          }
        guard
          let other = try tables.take(hash, for: object, under: claims.constraint, zone: zone)
        else { continue }
        // The entry that gave it the key names it.
        stale.add(
          other, isNews: try objects.hasNews(of: other),
          "Object \(other) holds a key that the push claims")
      }
    }
  }
}
