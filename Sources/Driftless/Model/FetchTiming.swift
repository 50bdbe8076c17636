/// When a replica fetches the large values of an attribute.
public enum FetchTiming: String, Hashable, Sendable, CaseIterable {
  /// With the change that names them: an object never lacks its value.
  case eager
  /// When somebody asks for them: until then an object says that its value is in the zone (``ValueFetchState``).
  case firstUse

  /// The key in an attribute's `userInfo` that says when its large values are fetched, and in an entity's for all attributes of it
  /// that say nothing: `eager`, or `firstUse`.
  public static let userInfoKey = "driftless.fetch"
}

extension EntityDescription {
  /// When the large values of those attributes are fetched that do not say so themselves; nil for what the superentity says, and
  /// with the change that names them where no entity above says anything.
  ///
  /// It rides in `userInfo` under ``FetchTiming/userInfoKey``.
  public var fetchTiming: FetchTiming? {
    get { userInfo.fetchTiming }
    set { userInfo.fetchTiming = newValue }
  }

  /// What the model says for one of the entity's attributes.
  package func fetchTiming(of attribute: AttributeDescription) -> FetchTiming {
    if let own = attribute.fetchTiming { return own }
    var entity: EntityDescription? = self
    while let next = entity {
      if let timing = next.fetchTiming { return timing }
      entity = next.superentity
    }
    return .eager
  }
}

extension AttributeDescription {
  /// When its large values are fetched; nil for what the entity says.
  ///
  /// It rides in `userInfo` under ``FetchTiming/userInfoKey``.
  public var fetchTiming: FetchTiming? {
    get { userInfo.fetchTiming }
    set { userInfo.fetchTiming = newValue }
  }
}
