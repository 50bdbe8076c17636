public import Foundation

/// Something of the zone's log that this replica could not take in: it is kept as it came, the rest
/// goes on, and a newer program or model takes it in later.
public struct ParkedEntry: Hashable, Sendable, Codable {
  /// Its place in the log; 0 for what no entry of it says.
  public var sequence: UInt64
  /// Which it is of those that are set aside with the same place: a number that it keeps for as long as it is set aside, whatever
  /// becomes of the others. Nil for an entry of the log of which nothing else is set aside.
  public var part: Int?
  /// The replica that sent it; nil when the bytes do not say.
  public var sender: UUID?
  /// Why, as a short name that scripts can compare: `unknown-names`, `unreadable`, `not-applicable`,
  /// `damaged`, `needs-parked`, `invalid-value`; `missing-value`: a large value that did not come; `former-log`: the log that it came from is gone; `key-taken`: a value that is
  /// unique here, and that the log has of two objects; `required-empty`: a required property that a merge left empty;
  /// `sealed`: an encrypted value that does not open here.
  public var code: String
  /// Why, as a sentence.
  public var reason: String
  /// The names that this model does not know: `Entity`, or `Entity.property`.
  public var names: [String]
  /// The object and property of a single value.
  public var object: UUID?
  /// The name of the object's entity, of a single value.
  public var entity: String?
  /// The name of the property, of a single value.
  public var property: String?
  /// When it was set aside; of a value whose key is taken, when that was set.
  public var since: Date
  /// The size of what is kept, in bytes.
  public var bytes: Int
  /// Whether a person has accepted it (`SyncEngine.acceptParked(of:sequence:)`): it waits for nobody.
  public var isAccepted = false
  /// Of one of a log that is gone, its row.
  var former: Int64?

  /// By what it is called: its place, and a dot and the part where it shares that.
  package var number: String { "\(sequence)" + (part.map { ".\($0)" } ?? "") }

  /// The same, whatever is set aside with it.
  package var lastingNumber: String { "\(sequence).\(lastingPart)" }

  /// Whether a person means it by a place and a part, also where it has the place for itself by now.
  package func isMeant(by sequence: UInt64, _ part: Int?) -> Bool {
    self.sequence == sequence && (part == nil || part == self.part || part == lastingPart)
  }

  /// Whether an entry of the log says no more than this: its number names it.
  var isEntry: Bool { object == nil && former == nil }

  /// The part, from what it is: nobody keeps a list of parts, and two looks, or two processes, have the same one.
  var lastingPart: Int {
    let kind = [KeptKeys.code, LackedValues.code].contains(code) ? code : "value"
    let name =
      former.map { "former \($0)" }
      ?? object.map { "\(kind) \($0.uuidString) \(property ?? "")" } ?? "entry"
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in name.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
    // Nine figures: two of a thousand that share a place have one number once in thousands of times, and are refused then.
    return 100_000_000 + Int(digest % 900_000_000)
  }

  private enum CodingKeys: CodingKey {
    case sequence, part, sender, code, reason, names, object, entity, property, since, bytes
    case isAccepted
  }
}
