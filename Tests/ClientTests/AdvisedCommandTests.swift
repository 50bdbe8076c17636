import SyncDaemon
import Testing

/// What a command advises names the store, so that it can be typed as it stands.
struct AdvisedCommandTests {
  @Test(
    "The store comes into commands that work on one and name none",
    arguments: [
      ("syncctl status", "syncctl status --store a.sqlite"),
      (
        "When that is meant: syncctl sync --allow-mass-delete. When not: syncctl sync --keep-mass-deleted",
        "When that is meant: syncctl sync --allow-mass-delete --store a.sqlite. When not: syncctl sync "
          + "--keep-mass-deleted --store a.sqlite"
      ),
      ("look (syncctl parked retry), or", "look (syncctl parked retry --store a.sqlite), or"),
      ("syncctl parked", "syncctl parked --store a.sqlite"),
      ("syncctl conflicts keep 5 --mine", "syncctl conflicts keep --store a.sqlite 5 --mine"),
      (
        "syncctl enroll … --token-file FILE",
        "syncctl enroll --store a.sqlite … --token-file FILE"
      ),
      ("syncctl doctor --store STORE", "syncctl doctor --store a.sqlite"),
      ("syncctl export --upsert > FILE", "syncctl export --upsert --store a.sqlite > FILE"),
      ("syncctl key use", "syncctl key use --store a.sqlite"),
      ("syncctl verify --repair, or", "syncctl verify --repair --store a.sqlite, or"),
      ("by: syncctl verify --take-in.", "by: syncctl verify --take-in --store a.sqlite."),
      ("(syncctl doctor --forget-lost)", "(syncctl doctor --forget-lost --store a.sqlite)"),
      ("syncctl parked retry 4", "syncctl parked retry --store a.sqlite 4"),
      ("syncctl values let-go", "syncctl values let-go --store a.sqlite"),
      ("syncctl model show tells", "syncctl model show --store a.sqlite tells"),
      ("syncctl store give-up-lost FILE; then", "syncctl store give-up-lost a.sqlite; then"),
      ("(syncctl migrate FILE --model MODEL)", "(syncctl migrate a.sqlite --model MODEL)"),
    ])
  func named(text: String, expected: String) {
    #expect(AdvisedCommand.naming(store: "a.sqlite", in: text) == expected)
  }

  @Test(
    "What names one, or works on none, stays as it is",
    arguments: [
      "syncctl sync --store other.sqlite", "syncctl key create FILE", "syncctl help",
      "use the syncctl of the same version as syncd", "try again", "syncctl key",
      "syncctl init --store b --model MODEL", "",
    ])
  func left(text: String) {
    #expect(AdvisedCommand.naming(store: "a.sqlite", in: text) == text)
  }

  @Test(
    "Who runs a command is not told to run it, and is told what was to come after it",
    arguments: [
      (
        "The file is damaged: keep a copy. See what is: syncctl store check a.sqlite. Then put back a backup; or make it anew",
        "The file is damaged: keep a copy. Then put back a backup; or make it anew"
      ),
      (
        "Run syncctl store check FILE, and restore the file from a copy.",
        "Restore the file from a copy."
      ),
      ("Run syncctl store check FILE, then syncctl enroll --anew.", "syncctl enroll --anew."),
      ("Nothing was saved. Run syncctl store check FILE.", "Nothing was saved."),
      (
        "Nothing was changed. Run syncctl store check FILE; update Driftless, and report it.",
        "Nothing was changed. Update Driftless, and report it."
      ),
      ("try again", "try again"),
    ])
  func leftOut(text: String, expected: String) {
    #expect(AdvisedCommand.leavingOut("store check", in: text) == expected)
  }

  @Test("A path with spaces is one word")
  func quoted() {
    #expect(
      AdvisedCommand.naming(store: "my shop.sqlite", in: "syncctl sync.")
        == "syncctl sync --store 'my shop.sqlite'.")
  }
}
