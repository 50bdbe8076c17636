extension AttributeDescription {
  /// The key in an attribute's `userInfo` that declares it encrypted: `1`, `true` or `yes`. A replica seals its values before
  /// they leave the host, and only who has the key reads them; the store itself keeps them in the clear.
  public static let encryptedKey = "driftless.encrypted"

  /// Whether the model declares the attribute encrypted, or the composite attribute around it. What no replica is told of is
  /// never sealed: transient and derived attributes are not.
  package var isEncrypted: Bool {
    guard !isKeptInMemory, !(self is DerivedAttributeDescription) else { return false }
    return userInfo.declares(Self.encryptedKey) || composite?.isEncrypted ?? false
  }
}
