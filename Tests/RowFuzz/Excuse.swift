/// Which changes of a row leave a store whose parts still fit together: nobody can tell them from what was meant.
///
/// Whatever is not named here, the check has to find.
enum Excuse {
  /// Columns that hold any text: words for people, names that others gave.
  private static let texts: Set<String> = [
    "ATRANSACTION.ZAUTHOR", "ATRANSACTION.ZBUNDLEID", "ATRANSACTION.ZCONTEXTNAME",
    "ATRANSACTION.ZPROCESSID", "ATRANSACTIONSTRING.ZNAME", "ZDL_JOURNAL.entity",
    "ZDL_JOURNAL.property", "ZDL_JOURNAL.policy", "ZDL_JOURNAL.base", "ZDL_JOURNAL.local",
    "ZDL_JOURNAL.remote", "ZDL_JOURNAL.kept", "ZDL_JOURNAL.explanation", "ZDL_PARKED.reason",
    "ZDL_PARKED.unknown", "ZDL_PARKED_VALUE.reason", "ZDL_QUARANTINE.code",
    "ZDL_QUARANTINE.reason", "ZDL_QUARANTINE.suggestion", "ZDL_REPLICA.last_error",
    "ZDL_REPLICA.server", "ZDL_REPLICA.zone", "ZDL_HISTORY_READER.name", "ZDL_STRUCK.property",
    "ZDL_IMPORT.author", "ZDL_IMPORT.context", "ZDL_ORIGIN.author", "ZDL_ORIGIN.context",
    "ZDL_SEGMENT.name", "ZDL_PARKED_FORMER.reason", "ZDL_PARKED_FORMER.unknown",
  ]

  /// Columns that hold any number within their bounds: times, versions, counts that nothing else counts.
  private static let numbers: Set<String> = [
    "ACHANGE.Z_OPT", "ATRANSACTION.Z_OPT", "ATRANSACTION.ZTIMESTAMP", "ATRANSACTIONSTRING.Z_OPT",
    "ATRANSACTION.ZAUTHORTS", "ATRANSACTION.ZBUNDLEIDTS", "ATRANSACTION.ZCONTEXTNAMETS",
    "ATRANSACTION.ZPROCESSIDTS", "ATRANSACTIONSTRING.Z_PK", "ZDL_CHAIN.sequence",
    "ZDL_CHAIN.next_number", "ZDL_DELETED.maker",
    "ZDL_DELETED.time", "ZDL_DELETED.has_come", "ZDL_DELETED_SINCE.noted",
    "ZDL_DELETED_SINCE.identity", "ZDL_FRAME.time",
    "ZDL_FRAME.first_number",
    "ZDL_FRAME.sequence",
    "ZDL_HISTORY_READER.number",
    "ZDL_IMPORT.first_change", "ZDL_IMPORT.time", "ZDL_JOURNAL.number", "ZDL_JOURNAL.local_time",
    "ZDL_JOURNAL.remote_time", "ZDL_JOURNAL.transaction_number", "ZDL_JOURNAL.sequence",
    "ZDL_JOURNAL.decided_at", "ZDL_KEPT.time", "ZDL_KEPT.sequence",
    "ZDL_LACKED.sequence", "ZDL_LACKED.since", "ZDL_ORIGIN.stamp",
    "ZDL_OUTBOX.objects", "ZDL_OUTBOX_PART.standing", "ZDL_STAGED.is_header",
    "ZDL_OUTBOX.properties", "ZDL_OUTBOX.through_transaction", "ZDL_PARKED.sequence",
    "ZDL_PARKED.first_number", "ZDL_PARKED.new_objects", "ZDL_PARKED.since",
    "ZDL_PARKED.tried_level", "ZDL_PARKED_VALUE.sequence", "ZDL_PARKED_VALUE.since",
    "ZDL_QUARANTINE.bytes", "ZDL_QUARANTINE.last_edit", "ZDL_QUARANTINE.time",
    "ZDL_REPLICA.acknowledged", "ZDL_REPLICA.push_number", "ZDL_REPLICA.head", "ZDL_REPLICA.mark",
    "ZDL_REPLICA.last_sync", "ZDL_STRUCK.number", "ZDL_STRUCK.sequence",
    "ZDL_TRANSACTION.hybrid_time", "ZDL_TRANSACTION.kind", "ZDL_TRANSACTION.name", "ZDL_ZONE.time",
    "ZDL_ZONE.sequence", "ZDL_ZONE.kind", "ZDL_GRAVE.transaction_number",
    "ZDL_PENDING.transaction_number",
    "ZDL_DANGLING.state", "ZDL_DANGLING.place", "ZDL_DELTA.transaction_number",
    "Z_PRIMARYKEY.Z_MAX", "ZDL_STORE.value", "ZDL_SEGMENT.first", "ZDL_VALUE.first",
    "ZDL_PARKED_FORMER.id",
    "ZDL_PARKED_FORMER.sequence", "ZDL_PARKED_FORMER.since", "ZDL_PARKED_FORMER.tried_level",
  ]

  /// Columns that name one of several objects or properties, or hold bytes of the right form, which another may be as well.
  private static let others: Set<String> = [
    "ZDL_ALIAS.identity", "ZDL_ALIAS.entity", "ZDL_ALIAS.key", "ZDL_ALIAS.former_key",
    "ZDL_BASE.entity", "ZDL_BASE.key", "ZDL_BASE.property", "ZDL_BASE.value",
    "ZDL_DANGLING.target_root", "ZDL_DANGLING.target_key", "ZDL_DANGLING.entity",
    "ZDL_DANGLING.key", "ZDL_DANGLING.property", "ZDL_DELETED.identity", "ZDL_DELETED.entity",
    "ZDL_DELETED.key", "ZDL_DELTA.key", "ZDL_DELTA.entity", "ZDL_DELTA.value",
    "ZDL_DELTA.property", "ZDL_FORMER.entity", "ZDL_FORMER.key", "ZDL_GRAVE.row", "ZDL_GRAVE.key",
    "ZDL_GRAVE.entity", "ZDL_JOURNAL.object", "ZDL_JOURNAL.origin", "ZDL_JOURNAL.outcome",
    "ZDL_JOURNAL.decision", "ZDL_JOURNAL.row", "ZDL_JOURNAL.local_value",
    "ZDL_JOURNAL.remote_value", "ZDL_KEPT.entity", "ZDL_KEPT.key", "ZDL_KEPT.property",
    "ZDL_KEPT.value", "ZDL_KEPT.origin", "ZDL_LACKED.entity", "ZDL_LACKED.key",
    "ZDL_LACKED.property", "ZDL_LACKED.had", "ZDL_LACKED.origin", "ZDL_OMITTED.entity",
    "ZDL_OMITTED.key",
    "ZDL_OMITTED.property", "ZDL_PARKED.code", "ZDL_PARKED.sender", "ZDL_PARKED.frame",
    "ZDL_PARKED_VALUE.entity", "ZDL_PARKED_VALUE.key", "ZDL_PARKED_VALUE.property",
    "ZDL_PARKED_VALUE.value", "ZDL_PARKED_VALUE.sender", "ZDL_PENDING.state", "ZDL_PENDING.entity",
    "ZDL_PENDING.key", "ZDL_QUARANTINE.entity", "ZDL_QUARANTINE.key", "ZDL_REPLICA.replica",
    "ZDL_REPLICA.zone_id", "ZDL_REPLICA.mark_chain", "ZDL_CHAIN.chain", "ZDL_FRAME.chain",
    "ZDL_ZONE.entity", "ZDL_ZONE.key", "ZDL_ZONE.property", "ZDL_ZONE.value", "ZDL_ZONE.origin",
    "ZDL_IDENTITY.identity", "ZDL_IDENTITY.first_key", "ZDL_IDENTITY.number", "ZDL_IDENTITY.count",
    "ZDL_STORE.key",
    "ZDL_MODEL.content", "Z_METADATA.Z_UUID", "Z_METADATA.Z_PLIST", "ACHANGE.ZCOLUMNS",
    "ACHANGE.ZTOMBSTONE0", "ATRANSACTION.ZQUERYGEN", "ZDL_ALIAS.row", "ZDL_ALIAS.state",
    "ACHANGE.Z_PK", "ACHANGE.ZENTITYPK", "ACHANGE.ZENTITY", "ZDL_SEGMENT.bytes", "ZDL_VALUE.bytes",
    "ZDL_VALUE.digest",
    "ZDL_PARKED_FORMER.code", "ZDL_PARKED_FORMER.sender", "ZDL_PARKED_FORMER.objects",
    "ZDL_PARKED_FORMER.frame",
  ]

  /// Tables whose rows are notes by themselves: without one, or with one more, the rest fits together.
  private static let notes: Set<String> = [
    "ACHANGE", "ATRANSACTIONSTRING", "ZDL_ALIAS", "ZDL_BASE", "ZDL_CHAIN", "ZDL_DANGLING",
    "ZDL_DELETED", "ZDL_DELTA", "ZDL_FORMER", "ZDL_FRAME", "ZDL_GRAVE", "ZDL_HISTORY_READER",
    "ZDL_IDENTITY", "ZDL_IMPORT", "ZDL_JOURNAL", "ZDL_KEPT", "ZDL_LACKED", "ZDL_OMITTED",
    "ZDL_ORIGIN",
    "ZDL_OUTBOX", "ZDL_PARKED", "ZDL_PARKED_FORMER", "ZDL_PARKED_VALUE",
    "ZDL_PENDING", "ZDL_QUARANTINE", "ZDL_STAGED", "ZDL_STORE", "ZDL_STRUCK",
    "ZDL_ZONE", "Z_MODELCACHE", "ZDL_SEGMENT", "ZDL_VALUE",
  ]

  static func covers(_ mutation: Mutation) -> Bool {
    if mutation.isOfEntity { return coversRow(mutation) }
    let place = "\(mutation.table).\(mutation.column)"
    // Two transactions of one moment may have each other's number.
    if mutation.kind == .swap, place == "ATRANSACTION.Z_PK" { return true }
    // So may two ranges of identities that are alike but for their entity.
    if mutation.kind == .swap, place == "ZDL_IDENTITY.root_entity" { return true }
    switch mutation.kind {
    case .delete, .duplicate: return notes.contains(mutation.table)
    case .null, .emptyBytes, .bytes, .hugeBytes, .cutBytes, .brokenText:
      return isNullable(mutation) || others.contains(place) || texts.contains(place)
    case .text, .emptyText, .hugeText:
      return texts.contains(place) || others.contains(place) || numbers.contains(place)
    case .zero, .one, .negative, .greatest, .least, .big, .otherNumber, .fraction, .changedByte,
      .otherValue, .swap:
      return texts.contains(place) || numbers.contains(place) || others.contains(place)
    }
  }

  private static func isNullable(_ mutation: Mutation) -> Bool {
    guard mutation.kind == .null else { return false }
    return [
      "mark", "last_sync", "last_error", "new_objects", "sender", "place", "decided_at", "author",
      "context",
    ]
    .contains(mutation.column) || mutation.table.hasPrefix("A")
      || mutation.table == "ZDL_STORE"
  }

  /// Rows of entities and pairs of relationships: an attribute may have any value of its type, and none.
  private static func coversRow(_ mutation: Mutation) -> Bool {
    if mutation.kind.isOfRow { return mutation.isOfPairs }
    let column = mutation.column
    // Two objects that nothing refers to may have each other's key.
    if mutation.kind == .swap, column == "Z_PK" { return true }
    return !["Z_PK", "Z_ENT"].contains(column)
      || mutation.isOfPairs
  }
}

extension Mutation {
  /// Whether the table is an entity's or a relationship's.
  var isOfEntity: Bool {
    table.hasPrefix("Z") && !table.hasPrefix("ZDL_") && !table.hasPrefix("Z_M")
      && table != "Z_PRIMARYKEY"
  }

  var isOfPairs: Bool { isOfEntity && table.hasPrefix("Z_") }
}
