/// Where the protocol lives in HTTP.
public enum WirePath {
  /// The content type of a change set's frame.
  public static let changeSetType = "application/vnd.driftless.changeset"
  /// The content type of a page of the log.
  public static let logType = "application/vnd.driftless.log"
  /// The content type of a piece of a snapshot's file.
  public static let segmentType = "application/vnd.driftless.segment"
  /// The content type of digests, one behind the other.
  public static let digestsType = "application/vnd.driftless.digests"
  /// The content type of a piece of a large value.
  public static let valueType = "application/vnd.driftless.value"
  /// All zones live below this path.
  public static let zones = "/v1/zones"
}
