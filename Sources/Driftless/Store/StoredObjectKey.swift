package import DriftlessSQLite

extension SQLiteStatement {
  /// The object that two columns name. One that names none, since no store gives out such a number or such a key, is
  /// nobody's: its entity is none, so that whoever asks for it finds nothing, and whoever counts on from its key can.
  @inline(__always)
  package func objectKey(_ entityColumn: Int32, _ keyColumn: Int32) -> ObjectKey {
    let key = int64(keyColumn)
    guard ReadTransaction.keys.contains(key) else { return ObjectKey(entity: -1, key: 0) }
    return ObjectKey(entity: entityNumber(entityColumn), key: key)
  }
}

extension ReadTransaction {
  /// The keys that objects of a store can have.
  static var keys: ClosedRange<Int64> { 1...greatestNumber }
}
