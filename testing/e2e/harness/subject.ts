import { type AppName, PREVIEWS, type PreviewName, SIDECARS } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'

export type App = AppName | PreviewName
/** A sidecar, or both in one process. */
export type Subject = App | 'both'
export type Target = 'real' | 'emulator'
/**
 * The executables under test. A run against the originals shows that a test describes them correctly; a run against
 * `one` shows that the combined process with one controller equals that sidecar alone.
 */
export type Binaries = 'ours' | 'one' | 'originals'
export type Executables = Readonly<Record<Subject, string>>

/** The sidecars with an executable. */
export const SUBJECTS = [...SIDECARS, ...PREVIEWS]

/** One entry for each of them. */
export function bySubject<T>(make: (app: App) => T): Readonly<Record<App, T>> {
  return Object.fromEntries(SUBJECTS.map(({ app }) => [app, make(app)])) as Record<App, T>
}

export function leaseName(app: App, driverName: string): string {
  return `${FACTS[app].leasePrefix}${driverName.replace(/[^a-zA-Z0-9-]/g, '-')}`
}
