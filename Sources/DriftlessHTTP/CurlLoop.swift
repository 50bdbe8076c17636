internal import CCurl
import Foundation
import Synchronization

/// The thread that drives libcurl for one transport: a push and a long poll run side by side,
/// connections and easy handles are used again.
///
/// Everything but the mailbox is touched by the loop's own thread only. Other threads put work or a
/// cancellation into the mailbox and wake the loop, so no caller ever blocks on the network.
final class CurlLoop: Sendable {
  typealias Completion = @Sendable (Result<HTTPResponse, TransportError>) -> Void

  private struct Job {
    var number: UInt64
    var request: HTTPRequest
    var completion: Completion
  }

  private struct Mailbox {
    var nextNumber: UInt64 = 0
    var jobs: [Job] = []
    var cancelled: Set<UInt64> = []
    var isStopping = false
  }

  private let mailbox = Mutex(Mailbox())
  // libcurl documents curl_multi_wakeup as the one call that any thread may make; all others are
  // the loop's own.
  private nonisolated(unsafe) let multi: UnsafeMutableRawPointer  // see the line above

  /// Starts the thread; nil when libcurl cannot give a handle (out of memory).
  init?() {
    guard CurlLibrary.isReady, let multi = curl_multi_init() else { return nil }
    self.multi = multi
    let thread = Thread { [self] in run() }
    thread.name = "driftless-http"
    thread.start()
  }

  /// Makes a request; `completion` is called once, on the loop's thread. The answer is the number
  /// for `cancel`.
  func start(_ request: HTTPRequest, completion: @escaping Completion) -> UInt64 {
    let number: UInt64? = mailbox.withLock { box in
      guard !box.isStopping else { return nil }
      box.nextNumber += 1
      box.jobs.append(Job(number: box.nextNumber, request: request, completion: completion))
      // Under the lock: the loop frees `multi` only after it saw `isStopping` under the same lock.
      curl_multi_wakeup(multi)
      return box.nextNumber
    }
    guard let number else {
      completion(.failure(.cancelled(request.url)))
      return 0
    }
    return number
  }

  /// Ends a request early. One that is done already is left alone.
  func cancel(_ number: UInt64) {
    mailbox.withLock { box in
      guard !box.isStopping, number > 0 else { return }
      box.cancelled.insert(number)
      curl_multi_wakeup(multi)
    }
  }

  /// Ends all requests and the thread.
  func stop() {
    mailbox.withLock { box in
      guard !box.isStopping else { return }
      box.isStopping = true
      curl_multi_wakeup(multi)
    }
  }

  // MARK: - The loop's own thread

  /// What the loop's thread has in hand.
  private struct Running {
    var transfers: [UnsafeMutableRawPointer: (job: Job, transfer: CurlTransfer)] = [:]
    var idle: [UnsafeMutableRawPointer] = []
  }

  private func run() {
    var running = Running()
    while true {
      let (jobs, cancelled, isStopping) = mailbox.withLock { box in
        defer {
          box.jobs = []
          box.cancelled = []
        }
        return (box.jobs, box.cancelled, box.isStopping)
      }
      for job in jobs {
        if isStopping || cancelled.contains(job.number) {
          job.completion(.failure(.cancelled(job.request.url)))
        } else {
          begin(job, &running)
        }
      }
      for (easy, item) in running.transfers where isStopping || cancelled.contains(item.job.number)
      {
        end(easy, .failure(.cancelled(item.job.request.url)), &running)
      }
      if isStopping { break }
      var active: Int32 = 0
      curl_multi_perform(multi, &active)
      var code = CURLE_OK
      while let easy = driftless_curl_finished(multi, &code) {
        guard let outcome = running.transfers[easy]?.transfer.outcome(code) else { continue }
        end(easy, outcome, &running)
      }
      // Woken by sockets, by time-outs of libcurl, and by curl_multi_wakeup.
      curl_multi_poll(multi, nil, 0, 10_000, nil)
    }
    running.idle.forEach { curl_easy_cleanup($0) }
    curl_multi_cleanup(multi)
  }

  private func begin(_ job: Job, _ running: inout Running) {
    guard let easy = running.idle.popLast() ?? curl_easy_init() else {
      return job.completion(
        .failure(
          TransportError(
            .unreachable, "libcurl gives no handle for \(job.request.url).",
            suggestion: "Free memory and try again.")))
    }
    let transfer = CurlTransfer(easy: easy, request: job.request)
    running.transfers[easy] = (job, transfer)
    guard curl_multi_add_handle(multi, easy) == CURLM_OK else {
      return end(
        easy,
        .failure(
          TransportError(
            .unreachable, "libcurl does not begin the request of \(job.request.url).",
            suggestion: "Free memory and try again.")), &running)
    }
  }

  private func end(
    _ easy: UnsafeMutableRawPointer, _ result: Result<HTTPResponse, TransportError>,
    _ running: inout Running
  ) {
    guard let item = running.transfers.removeValue(forKey: easy) else { return }
    if case .failure = result { item.job.request.part?.set(item.transfer.response) }
    curl_multi_remove_handle(multi, easy)
    running.idle.append(easy)
    item.job.completion(result)
  }
}

/// libcurl's one-time start.
enum CurlLibrary {
  static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
