export type App = 'attacher' | 'resizer'
export type Target = 'real' | 'emulator'
/** Whose executables are put to the test: the originals show that a story tells the truth about them. */
export type Binaries = 'ours' | 'originals'
