import Foundation
import TestSupport
import Testing

/// What `syncctl` holds of a large push, and of the pull of it.
@Suite(.serialized) struct TransferMemoryTests {
  /// Runs `syncctl` to its end.
  ///
  /// - Returns: The most memory that was seen to be resident. MB.
  private func peak(of command: String, _ replica: Replica) throws -> Int {
    let process = Process()
    process.executableURL = Programs.url("syncctl")
    process.arguments = [command, "--store", replica.store.path]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    // It only grows, and the system forgets it with the process; what waited for the process would count this one's own.
    let file = "/proc/\(process.processIdentifier)/status"
    var peak = 0
    while process.isRunning {
      let status = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
      peak = max(peak, line.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0)
      usleep(2_000)
    }
    try #require(process.terminationStatus == 0)
    return peak * 1024 / 1_000_000
  }

  @Test("A save of 48 MB is pushed and pulled with some parts of it in memory, not with all of it")
  func largeSave() throws {
    let world = try FaultWorld()
    let (sender, receiver) = (try world.replica("a"), try world.replica("b"))
    var generator = SeededNumbers(seed: 48)
    try sender.importLines(
      (0..<48).map { number in
        let text = (0..<80_000).map { _ in
          String(UInt64.random(in: 0 ... .max, using: &generator), radix: 36)
        }.joined()
        return
          #"{"op":"insert","entity":"Item","id":"item\#(number)","set":{"payload":"\#(text)"}}"#
      })
    // With parts of 8 MiB, and what statements kept of them, these were 149 and 187.
    let (push, pull) = (try peak(of: "push", sender), try peak(of: "pull", receiver))
    #expect(push < 135, "\(push) MB")
    #expect(pull < 160, "\(pull) MB")
    #expect(try receiver.digest() == sender.digest())
  }
}
