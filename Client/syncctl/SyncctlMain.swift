import ProgramStart
import SyncControl

@main enum SyncctlMain {
  static func main() {
    ProgramHeap.giveBack()
    // A sync opens 15; the others less. Some room for what the system's libraries open.
    ProgramStart.run("syncctl", mayBlock: true, files: 32) { await SyncControl.main() }
  }
}
