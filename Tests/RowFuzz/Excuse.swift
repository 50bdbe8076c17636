/// Which changes of a row leave a store whose parts still fit together: nobody can tell them from what was meant.
///
/// Each is of a column and of the kinds of damage that it is open to, with the reason. Whatever is not named here, the check has
/// to find.
enum Excuse {
  /// Kinds of damage that come to the same where a rule looks at them.
  struct Kinds: OptionSet {
    let rawValue: Int

    /// Whole numbers, and the text "-1", which is one in a column of numbers.
    static let numbers = Kinds(rawValue: 1)
    static let fractions = Kinds(rawValue: 2)
    static let texts = Kinds(rawValue: 4)
    static let bytes = Kinds(rawValue: 8)
    static let null = Kinds(rawValue: 16)
    /// A value of the form that was there: with another byte, or another row's.
    static let alike = Kinds(rawValue: 32)
    static let emptyTexts = Kinds(rawValue: 64)

    init(rawValue: Int) { self.rawValue = rawValue }

    init(_ mutation: Mutation) {
      switch mutation.kind {
      case .zero, .one, .negative, .greatest, .least, .big, .otherNumber: self = .numbers
      case .fraction: self = .fractions
      case .text: self = mutation.isNumberInText ? [.numbers, .texts] : .texts
      case .emptyText: self = [.texts, .emptyTexts]
      case .hugeText, .brokenText: self = .texts
      case .emptyBytes, .bytes, .hugeBytes, .cutBytes: self = .bytes
      case .null: self = .null
      case .changedByte, .otherValue, .swap: self = .alike
      case .delete, .duplicate: self = []
      }
    }
  }

  private struct Rule {
    let reason: String
    let kinds: Kinds
    let columns: Set<String>

    init(_ reason: String, _ kinds: Kinds, _ columns: Set<String>) {
      (self.reason, self.kinds, self.columns) = (reason, kinds, columns)
    }
  }

  private static let rules = [
    Rule(
      "words for people, and names that others gave: any text is one, and a number is a text there",
      [.numbers, .fractions, .texts, .alike],
      [
        "ATRANSACTION.ZAUTHOR", "ATRANSACTION.ZBUNDLEID", "ATRANSACTION.ZCONTEXTNAME",
        "ATRANSACTION.ZPROCESSID", "ATRANSACTIONSTRING.ZNAME", "ZDL_HISTORY_READER.name",
        "ZDL_IMPORT.author", "ZDL_IMPORT.context", "ZDL_JOURNAL.base", "ZDL_JOURNAL.entity",
        "ZDL_JOURNAL.explanation", "ZDL_JOURNAL.kept", "ZDL_JOURNAL.local",
        "ZDL_JOURNAL.policy", "ZDL_JOURNAL.property", "ZDL_JOURNAL.remote", "ZDL_NAMED.property",
        "ZDL_ORIGIN.author", "ZDL_ORIGIN.context", "ZDL_PARKED.reason",
        "ZDL_PARKED.unknown", "ZDL_PARKED_FORMER.reason", "ZDL_PARKED_FORMER.unknown",
        "ZDL_PARKED_VALUE.reason", "ZDL_QUARANTINE.code", "ZDL_QUARANTINE.reason",
        "ZDL_QUARANTINE.suggestion", "ZDL_REPLICA.last_error", "ZDL_REPLICA.server",
        "ZDL_REPLICA.zone", "ZDL_SEGMENT.name", "ZDL_STRUCK.property",
      ]),
    Rule(
      "times, versions, and counts that nothing else counts: any number within their bounds",
      [.numbers, .alike],
      [
        "ACHANGE.Z_OPT", "ATRANSACTION.ZAUTHORTS", "ATRANSACTION.ZBUNDLEIDTS",
        "ATRANSACTION.ZCONTEXTNAMETS", "ATRANSACTION.ZPROCESSIDTS",
        "ATRANSACTION.ZTIMESTAMP", "ATRANSACTION.Z_OPT", "ATRANSACTIONSTRING.Z_OPT",
        "ATRANSACTIONSTRING.Z_PK", "ZDL_CHAIN.next_number", "ZDL_CHAIN.sequence",
        "ZDL_DANGLING.place", "ZDL_DANGLING.state", "ZDL_DELETED.has_come",
        "ZDL_DELETED.maker", "ZDL_DELETED_SINCE.noted", "ZDL_DELETED.time",
        "ZDL_DELTA.transaction_number", "ZDL_FRAME.first_number", "ZDL_FRAME.sequence",
        "ZDL_FRAME.time", "ZDL_GRAVE.transaction_number", "ZDL_HISTORY_READER.number",
        "ZDL_IMPORT.first_change", "ZDL_IMPORT.time", "ZDL_JOURNAL.decided_at",
        "ZDL_JOURNAL.local_time", "ZDL_JOURNAL.number", "ZDL_JOURNAL.remote_time",
        "ZDL_JOURNAL.sequence", "ZDL_JOURNAL.transaction_number", "ZDL_KEPT.sequence",
        "ZDL_KEPT.time", "ZDL_LACKED.sequence", "ZDL_LACKED.since", "ZDL_ORIGIN.stamp",
        "ZDL_OUTBOX.objects", "ZDL_OUTBOX.properties", "ZDL_OUTBOX.through_transaction",
        "ZDL_OUTBOX_PART.standing", "ZDL_PARKED.first_number", "ZDL_PARKED.new_objects",
        "ZDL_PARKED.sequence", "ZDL_PARKED.since", "ZDL_PARKED.tried_level",
        "ZDL_PARKED_FORMER.id", "ZDL_PARKED_FORMER.sequence", "ZDL_PARKED_FORMER.since",
        "ZDL_PARKED_FORMER.tried_level", "ZDL_PARKED_VALUE.sequence",
        "ZDL_PARKED_VALUE.since", "ZDL_PENDING.transaction_number", "ZDL_QUARANTINE.bytes",
        "ZDL_QUARANTINE.last_edit", "ZDL_QUARANTINE.time", "ZDL_REPLICA.acknowledged",
        "ZDL_REPLICA.head", "ZDL_REPLICA.last_sync", "ZDL_REPLICA.mark",
        "ZDL_REPLICA.push_number", "ZDL_SEGMENT.first", "ZDL_STAGED.is_header",
        "ZDL_STORE.value", "ZDL_STRUCK.number", "ZDL_STRUCK.sequence",
        "ZDL_TRANSACTION.hybrid_time", "ZDL_TRANSACTION.kind", "ZDL_TRANSACTION.name",
        "ZDL_VALUE.first", "ZDL_ZONE.kind", "ZDL_ZONE.sequence", "ZDL_ZONE.time",
        "Z_PRIMARYKEY.Z_MAX",
      ]),
    Rule(
      "seconds, which have fractions",
      [.fractions],
      [
        "ATRANSACTION.ZTIMESTAMP", "ZDL_LACKED.since", "ZDL_MISSED.since", "ZDL_PARKED.since",
        "ZDL_PARKED_VALUE.since", "ZDL_PARKED_FORMER.since", "ZDL_REPLICA.last_sync",
        "ZDL_JOURNAL.decided_at", "ZDL_QUARANTINE.time", "ZDL_DELETED_SINCE.noted",
        "ZDL_FRAME.time",
      ]),
    Rule(
      "one of several objects or properties, or bytes of the right form: another one may be meant as well",
      [.numbers, .alike],
      [
        "ACHANGE.ZCOLUMNS", "ACHANGE.ZENTITY", "ACHANGE.ZENTITYPK", "ACHANGE.ZTOMBSTONE0",
        "ACHANGE.Z_PK", "ATRANSACTION.ZQUERYGEN", "ZDL_ALIAS.entity",
        "ZDL_ALIAS.former_key", "ZDL_ALIAS.identity", "ZDL_ALIAS.key", "ZDL_ALIAS.row",
        "ZDL_ALIAS.state", "ZDL_BASE.entity", "ZDL_BASE.key", "ZDL_BASE.property",
        "ZDL_BASE.value", "ZDL_CHAIN.chain", "ZDL_DANGLING.entity", "ZDL_DANGLING.key",
        "ZDL_DANGLING.property", "ZDL_DANGLING.target_key", "ZDL_DANGLING.target_root",
        "ZDL_DELETED.entity", "ZDL_DELETED.identity", "ZDL_DELETED.key",
        "ZDL_DELETED_SINCE.identity",
        "ZDL_DELTA.entity",
        "ZDL_DELTA.key", "ZDL_DELTA.property", "ZDL_DELTA.value", "ZDL_FORMER.entity",
        "ZDL_FORMER.key", "ZDL_FRAME.chain", "ZDL_GRAVE.entity", "ZDL_GRAVE.key",
        "ZDL_GRAVE.row", "ZDL_IDENTITY.count", "ZDL_IDENTITY.first_key",
        "ZDL_IDENTITY.identity", "ZDL_IDENTITY.number", "ZDL_JOURNAL.decision",
        "ZDL_JOURNAL.local_value", "ZDL_JOURNAL.object", "ZDL_JOURNAL.origin",
        "ZDL_JOURNAL.outcome", "ZDL_JOURNAL.remote_value", "ZDL_JOURNAL.row",
        "ZDL_KEPT.entity", "ZDL_KEPT.key", "ZDL_KEPT.origin", "ZDL_KEPT.property",
        "ZDL_KEPT.value", "ZDL_LACKED.entity", "ZDL_LACKED.had", "ZDL_LACKED.key",
        "ZDL_LACKED.origin", "ZDL_LACKED.property", "ZDL_MODEL.content",
        "ZDL_OMITTED.entity", "ZDL_OMITTED.key", "ZDL_OMITTED.property", "ZDL_PARKED.code",
        "ZDL_PARKED.frame", "ZDL_PARKED.sender", "ZDL_PARKED_FORMER.code",
        "ZDL_PARKED_FORMER.frame", "ZDL_PARKED_FORMER.objects", "ZDL_PARKED_FORMER.sender",
        "ZDL_PARKED_VALUE.entity", "ZDL_PARKED_VALUE.key", "ZDL_PARKED_VALUE.property",
        "ZDL_PARKED_VALUE.sender", "ZDL_PARKED_VALUE.value", "ZDL_PENDING.entity",
        "ZDL_PENDING.key", "ZDL_PENDING.state", "ZDL_QUARANTINE.entity",
        "ZDL_QUARANTINE.key", "ZDL_REPLICA.mark_chain", "ZDL_REPLICA.replica",
        "ZDL_REPLICA.zone_id", "ZDL_SEGMENT.bytes", "ZDL_STORE.key", "ZDL_VALUE.bytes",
        "ZDL_MISSED.digest", "ZDL_WANTED.digest", "ZDL_WANTED.others", "ZDL_WANTED.again",
        "ZDL_NAMED.entity", "ZDL_NAMED.key", "ZDL_NAMED.property", "ZDL_NAMED.digest",
        "ZDL_VALUE.digest", "ZDL_ZONE.entity",
        "ZDL_ZONE.key", "ZDL_ZONE.origin",
        "ZDL_ZONE.property", "ZDL_ZONE.value", "Z_METADATA.Z_PLIST", "Z_METADATA.Z_UUID",
      ]),
    Rule(
      "there is none as long as nobody gave one",
      [.null],
      [
        "ZDL_IDENTITY.number", "ZDL_REPLICA.mark", "ZDL_REPLICA.last_sync",
        "ZDL_REPLICA.last_error", "ZDL_JOURNAL.property", "ZDL_JOURNAL.base",
        "ZDL_JOURNAL.local", "ZDL_JOURNAL.remote", "ZDL_JOURNAL.kept",
        "ZDL_JOURNAL.local_value", "ZDL_JOURNAL.remote_value", "ZDL_JOURNAL.row",
        "ZDL_JOURNAL.decided_at", "ZDL_IMPORT.author", "ZDL_IMPORT.context",
        "ZDL_ORIGIN.author", "ZDL_ORIGIN.context", "ZDL_ALIAS.row", "ZDL_ALIAS.state",
        "ZDL_PARKED.new_objects", "ZDL_PARKED.sender", "ZDL_PARKED_FORMER.sender",
        "ZDL_DANGLING.place",
      ]),
    Rule(
      "Core Data leaves them out as it likes",
      [.null],
      [
        "ACHANGE.Z_OPT", "ATRANSACTION.Z_OPT", "ATRANSACTIONSTRING.Z_OPT",
        "ACHANGE.ZCOLUMNS", "ACHANGE.ZTOMBSTONE0", "ATRANSACTION.ZAUTHOR",
        "ATRANSACTION.ZBUNDLEID", "ATRANSACTION.ZCONTEXTNAME", "ATRANSACTION.ZPROCESSID",
        "ATRANSACTION.ZAUTHORTS", "ATRANSACTION.ZBUNDLEIDTS", "ATRANSACTION.ZCONTEXTNAMETS",
        "ATRANSACTION.ZPROCESSIDTS", "ATRANSACTION.ZQUERYGEN", "ATRANSACTIONSTRING.ZNAME",
      ]),
    Rule(
      "an entry that could not be read is kept as it came, whatever it is",
      [.bytes],
      [
        "ZDL_PARKED.frame", "ZDL_PARKED_FORMER.frame",
      ]),
    Rule(
      "pieces of what comes from the zone: their digest tells, once all are there",
      [.bytes],
      [
        "ZDL_SEGMENT.bytes", "ZDL_VALUE.bytes",
      ]),
    Rule(
      "a value of any type, which a delete left",
      [.texts, .bytes, .fractions],
      [
        "ACHANGE.ZTOMBSTONE0"
      ]),
    Rule(
      "a name that nobody knows is of another program, and a setting that is gone was never set",
      [.texts, .fractions],
      [
        "ZDL_STORE.key"
      ]),
    Rule(
      "the columns whose values may lie in files: none is a list as well",
      [.emptyTexts],
      [
        "ZDL_STORE.value"
      ]),
    Rule(
      "of the whole object, where no property is named",
      [.texts],
      [
        "ZDL_OMITTED.property"
      ]),
    Rule(
      "which properties an update changed: fewer may have been",
      [.bytes],
      [
        "ACHANGE.ZCOLUMNS"
      ]),
    Rule(
      "Core Data's own, which nobody reads here",
      [.bytes, .texts, .fractions],
      [
        "ATRANSACTION.ZQUERYGEN"
      ]),
    Rule(
      "no value is kept where it is not known what the zone has, and nobody asks of which property",
      [.texts, .fractions],
      [
        "ZDL_BASE.property"
      ]),
    Rule(
      "identities of objects, or of none",
      [.bytes],
      [
        "ZDL_PARKED_FORMER.objects"
      ]),
  ]

  /// Tables whose rows are notes by themselves: without one, or with one more, the rest fits together.
  private static let notes: Set<String> = [
    "ACHANGE", "ATRANSACTIONSTRING", "ZDL_ALIAS", "ZDL_BASE", "ZDL_CHAIN",
    "ZDL_DANGLING", "ZDL_DELETED", "ZDL_DELETED_SINCE", "ZDL_DELTA", "ZDL_FORMER", "ZDL_FRAME",
    "ZDL_GRAVE",
    "ZDL_HISTORY_READER", "ZDL_IDENTITY", "ZDL_IMPORT", "ZDL_JOURNAL", "ZDL_KEPT",
    "ZDL_LACKED", "ZDL_MISSED", "ZDL_WANTED", "ZDL_NAMED",
    "ZDL_OMITTED", "ZDL_ORIGIN", "ZDL_OUTBOX",
    "ZDL_PARKED",
    "ZDL_PARKED_FORMER", "ZDL_PARKED_VALUE", "ZDL_PENDING", "ZDL_QUARANTINE",
    "ZDL_SEGMENT", "ZDL_STAGED", "ZDL_STORE", "ZDL_STRUCK", "ZDL_VALUE", "ZDL_ZONE",
    "Z_MODELCACHE",
  ]

  static func covers(_ mutation: Mutation) -> Bool {
    if mutation.isOfEntity { return coversRow(mutation) }
    let place = "\(mutation.table).\(mutation.column)"
    // Two transactions of one moment may have each other's number, and two ranges of identities that are alike each other's entity.
    if mutation.kind == .swap, ["ATRANSACTION.Z_PK", "ZDL_IDENTITY.root_entity"].contains(place) {
      return true
    }
    if mutation.kind.isOfRow { return notes.contains(mutation.table) }
    let kinds = Kinds(mutation)
    return rules.contains { !$0.kinds.isDisjoint(with: kinds) && $0.columns.contains(place) }
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
