package import Foundation
import Glibc

/// What the system says while a file is written, in the words of a store.
extension StoreError {
  /// Runs what writes a file with Foundation, whose errors name no file system and nothing to do.
  ///
  /// - Parameter url: the file, or the folder.
  /// - Throws: `StoreError` (`diskFull`, `cannotOpen`, …) in place of such an error; others as they are.
  package static func writing<Result>(
    _ url: URL, _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch {
      throw StoreError(fileError: error, writing: url) ?? error
    }
  }

  /// Nil for what is no error of Foundation's about a file, and for one of reading where no file is said to be written.
  ///
  /// - Parameter url: The file, where the error does not name one.
  package init?(fileError error: any Error, writing url: URL? = nil) {
    guard error is CocoaError || error is POSIXError || type(of: error) == NSError.self,
      let number = Self.systemNumber(of: error)
    else { return nil }
    // Cocoa's numbers from 512 on are of writing.
    if url == nil, let code = (error as? CocoaError)?.code.rawValue, (256..<512).contains(code) {
      return nil
    }
    let path = (error as NSError).userInfo[NSFilePathErrorKey] as? String
    guard let url = url ?? path.map(URL.init(fileURLWithPath:)) else { return nil }
    self = .unwritten(url, number)
  }

  /// - Parameter number: `errno` of what failed.
  package static func unwritten(_ url: URL, _ number: Int32) -> StoreError {
    let what = "\(url.path) cannot be written: \(String(cString: strerror(number)))"
    switch number {
    case ENOSPC, EDQUOT:
      return StoreError(
        .diskFull, what + (DiskRoom.words(beside: url).map { ", and \($0)." } ?? "."),
        suggestion:
          "Free space on that file system, or write to another one; what is there is as it was.")
    case EMFILE, ENFILE: return .tooManyFiles(url.path)
    case EACCES, EPERM, EROFS:
      return .ofRights(
        .cannotOpen, what + ".", suggestion: "Give this user the right to write the folder.")
    case EIO:
      return StoreError(
        .readOrWriteFailed, what + ".", suggestion: "Look at the disk, or write to another one.")
    default:
      return StoreError(
        .cannotOpen, what + ".", suggestion: "Check the folder, its rights and its free space.")
    }
  }

  /// The number of the system that lies beneath an error of Foundation's.
  private static func systemNumber(of error: any Error) -> Int32? {
    var next: NSError? = error as NSError
    while let error = next {
      if error.domain == NSPOSIXErrorDomain { return Int32(error.code) }
      next = (error.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError }
    }
    switch (error as? CocoaError)?.code {
    case .fileWriteOutOfSpace?: return ENOSPC
    case .fileWriteNoPermission?: return EACCES
    case .fileWriteVolumeReadOnly?: return EROFS
    case .fileWriteFileExists?: return EEXIST
    case .fileNoSuchFile?: return ENOENT
    default: return nil
    }
  }
}
