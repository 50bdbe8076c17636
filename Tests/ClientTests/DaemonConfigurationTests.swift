import Foundation
import SyncDaemon
import TestSupport
import Testing

@Suite struct DaemonConfigurationTests {
  private func read(_ text: String) throws -> DaemonConfiguration {
    let directory = try TemporaryDirectory()
    let file = directory.file("syncd.json")
    try Data(text.utf8).write(to: file)
    return try DaemonConfiguration(contentsOf: file)
  }

  @Test("Paths are taken from the file's folder")
  func paths() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("syncd.json")
    try Data(
      #"{"socket":"s.sock","stores":[{"path":"a/b.sqlite","tokenFile":"../t","authorityFile":"ca.pem"},{"path":"/c.sqlite"}]}"#
        .utf8
    ).write(to: file)
    let configuration = try DaemonConfiguration(contentsOf: file)
    #expect(configuration.socket == directory.file("s.sock").path)
    #expect(configuration.stores[0].path.path == directory.file("a/b.sqlite").path)
    #expect(
      configuration.stores[0].tokenFile?.path
        == directory.url.deletingLastPathComponent().appendingPathComponent("t").path)
    #expect(configuration.stores[0].authorityFile?.path == directory.file("ca.pem").path)
    #expect(configuration.stores[1].authorityFile == nil)
    #expect(configuration.stores[1].path.path == "/c.sqlite")
    #expect(configuration.retrySecondsMax == 300)
  }

  @Test(
    "A setting that is wrong is named",
    arguments: [
      (#"{"stores":[]}"#, "stores"), (#"{}"#, "stores"), (#"{"stores":[{}]}"#, "path"),
      (#"{"stores":[{"path":"/a"},{"path":"/a"}]}"#, "twice"),
      (#"{"stores":[{"path":"/a"}],"sockett":"x"}"#, "sockett"),
      (#"{"stores":[{"path":"/a","token":"x"}]}"#, "token"),
      (#"{"stores":[{"path":"/a","authorityFile":""}]}"#, "authorityFile"),
      (#"{"stores":[{"path":"/a"}],"logLevel":"loud"}"#, "logLevel"),
      (#"{"stores":[{"path":"/a"}],"retrySecondsMax":0}"#, "retrySecondsMax"),
      (#"{"stores":[{"path":"/a"}],"stores":[{"path":"/b"}]}"#, "stores"),
      (#"{"stores":[{"path":"/a","path":"/b"}]}"#, "twice"),
      (
        #"{"stores":[{"path":"/a"}],"socket":"/tmp/\#(String(repeating: "a", count: 104))"}"#, "107"
      ),
      (#"{"stores":[{"path":5}]}"#, "path"), (#"not json"#, "JSON object"),
    ])
  func wrong(text: String, named: String) throws {
    do {
      _ = try read(text)
      Issue.record("\(text) was taken")
    } catch let error as Failure {
      #expect(error.status == .badData)
      #expect(error.message.contains(named), "\(error.message)")
    }
  }
}
