import Driftless
import Foundation

/// What a store holds though its model refuses it: a merge leaves a required reference empty where nothing can keep it filled,
/// and shows a zero for a value that the model cannot hold.
enum UnfitValues {
  /// The names of such properties of an object, sorted.
  ///
  /// - Parameter leavingOut: properties that the line of an export does not have.
  static func names(
    of key: ObjectKey, _ entity: SyncSchema.Entity, _ values: [PropertyValue],
    leavingOut: Set<String>, _ transaction: ReadTransaction
  ) throws -> [String] {
    var names: [String] = []
    for slot in entity.restricted {
      let isUnfit =
        switch slot.kind {
        case .attribute(let attribute, _):
          leavingOut.contains(slot.name)
            ? !slot.isOptional && slot.defaultValue.isNull
            : refuses(attribute, slot, values[slot.index])
        case .toOne: !slot.isOptional && values[slot.index].isNull
        case .toMany(let relationship):
          refuses(try transaction.toManyKeys(of: key, relationship).count, relationship)
        }
      if isUnfit { names.append(slot.name) }
    }
    return names
  }

  private static func refuses(
    _ attribute: AttributeDescription, _ slot: PropertySlot, _ value: PropertyValue
  ) -> Bool {
    if value.isNull { return !slot.isOptional }
    guard attribute.limitsValues, SealedValue.cell(in: value) == nil,
      LargeCell.value(in: value) == nil
    else { return false }
    do throws(ValidationError) {
      try attribute.validate(value)
      return false
    } catch {
      return true
    }
  }

  /// As objects are saved: one that may be empty, or has no least count, is right without any.
  private static func refuses(_ count: Int, _ relationship: RelationshipDescription) -> Bool {
    if count == 0 { return !relationship.isOptional && relationship.minCount > 0 }
    return count < relationship.minCount
      || relationship.maxCount > 0 && count > relationship.maxCount
  }
}
