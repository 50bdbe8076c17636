/// What an application notes about a part of a model.
struct UserInfo {
  /// What files have. Set anew, it is all there is.
  var texts: [String: String] = [:] {
    didSet { given = nil }
  }
  /// What was given under Core Data's names, where not all of it is text: a file has the texts alone.
  var given: [AnyHashable: Any]?
}

extension [String: String] {
  /// Whether a note says yes.
  func declares(_ key: String) -> Bool {
    self[key].map { ["1", "true", "yes"].contains($0.lowercased()) } ?? false
  }

  /// When large values are fetched, where a note says it.
  var fetchTiming: FetchTiming? {
    get { self[FetchTiming.userInfoKey].flatMap(FetchTiming.init(rawValue:)) }
    set { self[FetchTiming.userInfoKey] = newValue?.rawValue }
  }
}
