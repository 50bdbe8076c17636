import CHeap

/// The memory of a program that runs for long.
package enum ProgramHeap {
  /// Gives memory back to the system when it is free.
  ///
  /// As it comes, the C library's allocator has eight heaps a core, each of which keeps what its threads once needed, and
  /// after a large block that is freed keeps blocks as large: a server that took a push of 480,000 objects had 240 MB from
  /// then on, where 75 MB were in use at most. Two heaps are enough for two threads that allocate at once, and what is large is
  /// mapped by itself. Called before there is a second thread.
  package static func giveBack() { _ = driftless_heap_gives_back() }

  /// Gives back to the system all that is free by now, whole pages of it that lie between what is in use as well.
  ///
  /// What is freed in small pieces, say the pages of a database's cache, else stays with the process for what comes next. A call takes
  /// a millisecond or two for 100 MB: it belongs between steps of work, and not into them. On any thread.
  package static func trim() { _ = driftless_heap_trim() }
}
