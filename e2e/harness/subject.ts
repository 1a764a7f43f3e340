import type { AppName } from '@csi-sidecars/sidecars'

export type App = AppName
/** A sidecar, or both in one process. */
export type Subject = App | 'both'
export type Target = 'real' | 'emulator'
/**
 * Whose executables are put to the test: the originals show that a story tells the truth about them, `one` that the one
 * process with one controller is as good as that sidecar alone.
 */
export type Binaries = 'ours' | 'one' | 'originals'
export type Executables = Readonly<Record<Subject, string>>
