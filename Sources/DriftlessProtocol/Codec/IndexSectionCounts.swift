/// How many messages and texts an index section holds: known before anything is allocated for them.
struct IndexSectionCounts {
  private var entities = 0
  private var properties = 0
  private var newObjects = 0
  private var groups = 0
  private var names = 0
  private var relied = 0
  private var claims = 0

  /// - Throws: `ProtocolError` when the bytes are no protobuf message.
  init(_ bytes: [UInt8]) throws(ProtocolError) {
    let isMalformed = bytes.withUnsafeBytes { count($0) }
    guard !isMalformed else { throw .malformed("The index section is not in its format") }
  }

  private mutating func count(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var isMalformed = false
    func count(field: UInt64, in payload: Range<Int>) -> Int {
      var fields = ProtobufFields(bytes, range: payload)
      var count = 0
      while let inner = fields.next() { count += inner.number == field ? 1 : 0 }
      isMalformed = isMalformed || fields.isMalformed
      return count
    }
    var fields = ProtobufFields(bytes)
    while let field = fields.next() {
      switch field.number {
      case 1:
        entities += 1
        properties += count(field: 2, in: field.payload)
      case 2: newObjects += 1
      case 5: names += count(field: 3, in: field.payload)
      case 6: groups += 1
      case 7: relied += 1
      case 8: claims += 1
      default: break
      }
    }
    return isMalformed || fields.isMalformed
  }

  func check(_ limits: ChangeSetLimits) throws(ProtocolError) {
    guard entities <= limits.entitiesMax else {
      throw .tooLarge("The change set names \(entities) entities (entitiesMax)")
    }
    guard properties <= limits.propertiesMax else {
      throw .tooLarge("The change set names \(properties) properties (propertiesMax)")
    }
    guard newObjects <= limits.objectsMax else {
      throw .tooLarge("The object table is too long (objectsMax)")
    }
    guard groups <= limits.groupsMax else {
      throw .tooLarge("The change set has \(groups) groups (groupsMax)")
    }
    guard max(relied, claims) <= limits.groupsMax else {
      throw .tooLarge("The change set relies on, or claims, too much (groupsMax)")
    }
    guard names <= 2 * limits.transactionsMax else {
      throw .tooLarge("The change set names \(names) authors (transactionsMax)")
    }
  }
}
