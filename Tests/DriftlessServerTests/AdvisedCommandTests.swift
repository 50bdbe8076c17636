import DriftlessServer
import Testing

/// What a command of the server advises names the data folder, or the database, so that it can be typed as it stands.
struct AdvisedServerCommandTests {
  @Test(
    "The place comes into commands that work on one and name none",
    arguments: [
      (
        "See the zones: driftless-server zone list",
        "See the zones: driftless-server zone list --data d"
      ),
      (
        "driftless-server token create --zone shop",
        "driftless-server token create --data d --zone shop"
      ),
      ("(driftless-server restore), and", "(driftless-server restore --data d), and"),
      ("driftless-server zone fold shop --data DIR", "driftless-server zone fold shop --data d"),
    ])
  func named(text: String, expected: String) {
    #expect(AdvisedCommand.naming(place: "--data d", in: text) == expected)
  }

  @Test(
    "What names one, or works on none, stays as it is",
    arguments: [
      "driftless-server zone list --data e", "driftless-server help",
      "driftless-server certificate show FILE",
      "driftless-server serve --check", "the log of driftless-server", "",
    ])
  func left(text: String) {
    #expect(AdvisedCommand.naming(place: "--data d", in: text) == text)
  }
}
