import Foundation
import Synchronization
import TestSupport

/// Mutants of what comes from outside, a range of seeds, in a process of its own: what ends the process is seen from there.
///
///     filefuzz model|archive|format|grammar|predicate|binary|store|side|migration FOLDER FIRST COUNT [SAMPLES]
///
/// It prints a line for each seed before it begins (`seed N`), and one for what is wrong (`wrong N …`); at the end how many mutants
/// there were, how many of them were refused, and the most memory that one took. SAMPLES is a folder of real files to begin from, beside
/// those that are made here.
@main
struct FileFuzz {
  /// Seconds of the processor that one mutant may take, and those by the clock, which others use as well.
  private static let secondsMax = (processor: 20.0, clock: 180.0)
  /// Kilobytes that the process may have while there is one.
  private static let kilobytesMax = 200 * 1024

  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 5, let kind = Kind(rawValue: arguments[1]),
      let first = UInt64(arguments[3]), let count = UInt64(arguments[4])
    else {
      print(
        "usage: filefuzz model|archive|format|grammar|predicate|binary|store|side|migration FOLDER FIRST COUNT [SAMPLES]"
      )
      exit(64)
    }
    let folder = URL(fileURLWithPath: arguments[2])
    let real = arguments.count > 5 ? URL(fileURLWithPath: arguments[5]) : nil
    let samples = try Samples(kind, folder: folder, real: real)
    var trial = try FileTrial(kind, folder: folder)
    let progress = Progress()
    watch(progress)
    var most = 0
    for seed in first..<first + count {
      tell("seed \(seed)")
      progress.seed.store(seed &+ 1, ordering: .relaxed)
      var numbers = SeededNumbers(seed: seed)
      try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
      trial.run(kind, samples, &numbers)
      for text in trial.takeStrange() { tell("wrong \(seed) \(text)") }
      let taken = peak()
      most = max(most, taken)
      if taken > kilobytesMax { tell("wrong \(seed) it took \(taken / 1024) MB") }
    }
    print("done \(count) mutants, \(trial.refused) refused, \(most / 1024) MB")
    exit(0)
  }

  private final class Progress: Sendable {
    let seed = Atomic<UInt64>(0)
  }

  /// Ends the process when one mutant takes too long.
  private static func watch(_ progress: Progress) {
    Thread.detachNewThread {
      var last = progress.seed.load(ordering: .relaxed)
      var (since, used) = (Date(), processorSeconds())
      while true {
        usleep(200_000)
        let now = progress.seed.load(ordering: .relaxed)
        if now != last { (last, since, used) = (now, Date(), processorSeconds()) }
        if processorSeconds() - used > secondsMax.processor
          || Date().timeIntervalSince(since) > secondsMax.clock
        {
          quick_exit(97)
        }
      }
    }
  }

  private static func processorSeconds() -> Double { Double(clock()) / 1_000_000 }

  /// The most memory in kilobytes since it was last set back.
  private static func peak() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return line.split(separator: " ").compactMap { Int($0) }.first ?? 0
  }

  /// At once: whoever reads has to know which seed it was that ended the process.
  private static func tell(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}

/// What is mutated.
enum Kind: String {
  /// A model as Xcode edits it, in XML.
  case model
  /// A compiled model or mapping, or a model as a store keeps it.
  case archive
  /// A predicate's format string.
  case format
  /// A predicate's format string that is made by the grammar, one of four with words changed.
  case grammar
  /// A format string of `NSPredicate`, of either kind.
  case predicate
  /// The file of a binary store.
  case binary
  /// A store's file.
  case store
  /// What lies beside a store.
  case side
  /// A store's file that is migrated to a newer model.
  case migration
}
