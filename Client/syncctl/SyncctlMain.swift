import SyncControl

@main struct SyncctlMain {
  static func main() async { await SyncControl.main() }
}
