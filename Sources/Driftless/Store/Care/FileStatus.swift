import Foundation

/// What `statx` tells of a file: `stat` does not know when one was made.
struct FileStatus {
  let inode: UInt64
  /// When the file was made, in nanoseconds since 1970; nil where the file system does not say.
  let birth: Int64?
  /// How many names it has.
  let linkCount: UInt32
  let isSymbolicLink: Bool

  /// Nil for what is no file. A symbolic link is not followed.
  init?(_ path: String) {
    self.init(extended: path)
    // A kernel or C library without the call.
    if inode == 0 { self.init(plain: path) }
    if inode == 0 { return nil }
  }

  private init(plain path: String) {
    var status = stat()
    let isThere = lstat(path, &status) == 0
    inode = isThere ? UInt64(status.st_ino) : 0
    birth = nil
    linkCount = isThere ? UInt32(truncatingIfNeeded: status.st_nlink) : 0
    isSymbolicLink = isThere && status.st_mode & S_IFMT == S_IFLNK
  }

  private init(extended path: String) {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    let isThere =
      Self.call.map { call in
        bytes.withUnsafeMutableBytes { buffer in
          buffer.baseAddress.map { call(AT_FDCWD, path, Self.noFollow, Self.wanted, $0) == 0 }
        } == true
      } ?? false
    func read<Value: FixedWidthInteger>(_ offset: Int, _ type: Value.Type) -> Value {
      bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }
    inode = isThere ? read(32, UInt64.self) : 0
    linkCount = read(16, UInt32.self)
    isSymbolicLink = UInt32(read(28, UInt16.self)) & UInt32(S_IFMT) == UInt32(S_IFLNK)
    let knowsBirth = isThere && read(0, UInt32.self) & Self.birthIsKnown != 0
    birth = knowsBirth ? read(80, Int64.self) &* 1_000_000_000 &+ Int64(read(88, UInt32.self)) : nil
  }

  // Swift's view of the C library leaves `statx` out, since its header asks for GNU's extensions. It is looked up by its
  // name; the places of its fields are the kernel's, and fixed.
  private typealias Call =
    @convention(c) @Sendable (
      Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer
    ) -> Int32

  // The type is the C library's, as its manual has it.
  private static let call: Call? = dlsym(nil, "statx").map { unsafeBitCast($0, to: Call.self) }
  private static let byteCount = 256
  private static let noFollow: Int32 = 0x100
  private static let birthIsKnown: UInt32 = 0x800
  /// Kind, number of names, inode and birth.
  private static let wanted: UInt32 = 0x1 | 0x4 | 0x100 | birthIsKnown
}
